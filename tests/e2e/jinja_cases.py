"""Templates whose texts jinja2 decides: tests/data/jinja/cases.json holds what it renders. A
template that jinja2 refuses has no text.

    PYTHON jinja_cases.py      rewrites that file; PYTHON has transformers (scripts/setup
    --reference)
"""
import json
import pathlib
import sys

RECORDED = pathlib.Path(__file__).parents[1] / "data/jinja/cases.json"
VARIABLES = {
    "messages": [{"role": "user",
                  "content": "Hello, Zoë"}, {"role": "assistant", "content": "  At noon — ok 🙂 \n"},
                 {"role": "user", "content": "<b> & 'x'"}],
    "tools": [{
        "name": "ferry", "parameters": {
            "type": "object", "properties": {"port": {"type": "string", "enum": ["a", "b"]}},
            "required": ["port"]
        }
    }, {"name": "none", "parameters": {"properties": {}, "items": []}}],
    "d": {"b": 1, "a": 2.0, "B": None, "t": True, "items": "own", "n": {"x": [1, 2, {"y": "z"}]}},
    "l": [3, 1, 2],
    "words": ["beta", "Alpha", "gamma", "alpha"],
    "empty": [],
    "text": "one two  three\nfour",
    "n": None,
    "i": 7,
    "r": 2.5,
    "greek": "ΟΔΟΣ Straße İ",
    "rows": [{"k": "x", "v": 1}, {"k": "y", "v": 2}, {"k": "X", "v": 3}, {"v": 4}],
    "bos_token": "<s>",
    "eos_token": "</s>",
    "add_generation_prompt": True,
}
EXPRESSIONS = r"""
1 + 2 * 3
2 ** 3 ** 2
-2 ** 2
7 // 2
-7 // 2
7 % -3
-7 % 3
7 / 2
4 / 2
7.5 // 2
-7.5 % 2
2 ** -1
2 ** 0.5
2.5 ** 2
(-2.5) ** 3
1 / 0
5 % 0
1 - -1
+3
10 - 2 - 3
1e3
1.5e-7
1e16
123456789.123
1_000
0.1 + 0.2
1e100
100.0
1 == 1.0
true == 1
true + true
3 * 'ab'
'ab' * -1
[1] * 3
'a' + 1
'a' ~ 1 ~ none ~ 1.0 ~ true
'a' 'b' "c"
'\n\t\\\x41\u00e9\101'
'\q'
"it's"
'he said "no"'
'\é'
1 < 2 < 3
1 < 3 < 2
'a' < 'b'
[1, 2] < [1, 3]
1 < 'a'
'el' in 'hello'
1 in l
4 not in l
'b' in d
none in l
not 1 in l
i is odd
not i is even
i if i > 3 else 0
'x' if false
('x' if false) is defined
1 if 0 else 2 if 0 else 3
n or 'x'
'' or []
1 and 2
0 and x.y
not none
true and not false
(1,)
(1, 2)
()
[1, 'a', none, 1.5, true]
{'a': [1], 1: 'x', none: 2}
{}
[]
'é\x00\n\u2028'
['é\x00\n\u2028', "it's", 'q"']
(1, [2, (3,)])
{'a': {}}
1, 2
text[0]
text[-1]
text[1:3]
text[::-1]
text[-3:]
text[5:1]
text[::2]
text[100]
text[100:]
l[0]
l[-1]
l[1:]
l[::-1]
l[5]
l['x']
l[true]
d['b']
d.b
d['zz']
d.zz.y
d.items
d['items']
d.n.x[2].y
d.n.x.2.y
n.x
n['x']
i.x
'abc'.x
(1, 2, 3)[1:]
greek[0]
greek[-1]
'Zoë'[2]
'Zoë' | length
'🙂é'[1]
x
x.y
x is defined
x is undefined
x | default('q')
x | d
'' | default('q')
'' | default('q', true)
none | default('q')
d.b | default(5)
x + 1
x == y
x in 'abc'
'a' in x
x[0]
x()
x | length
x | list
x | string
x | upper
[x]
x ~ 'a'
-x
x < 1
x is none
x is string
x is iterable
x is sequence
x is mapping
text | upper
text | title
text | capitalize
text | trim
'  a b ' | trim
'xxaxx' | trim('x')
text | length
text | replace('o', '0')
text | replace('o', '0', 1)
'aaa' | replace('', '-')
text | first
text | last
text | reverse
text | list
text | string
text | wordcount
text | indent
text | indent(2, true)
text | indent('> ', blank=true)
'a\n\nb' | indent(2)
'a\n\nb' | indent(2, blank=true)
text | truncate(10)
text | truncate(9, true)
text | truncate(12, false, '..', 0)
'abc' | center(9)
'%s-%05.1f' | format('a', 2.25)
'%(a)s' | format(a=1)
greek | upper
greek | lower
greek | title
greek | capitalize
'hello world-foo (bar)' | title
text | count
l | sort
l | sort(reverse=true)
words | sort
words | sort(case_sensitive=true)
rows | sort(attribute='v', reverse=true) | map(attribute='v') | list
rows | sort(attribute='k')
l | sum
rows | sum(attribute='v')
rows | sum('v', 10)
l | min
l | max
words | min
words | max(case_sensitive=true)
empty | min
l | first
empty | first
empty | first is defined
l | last
l | join('-')
l | join
words | join(', ')
rows | join(',', attribute='v')
l | length
l | reverse | list
l | list
words | unique | list
words | unique(case_sensitive=true) | list
l | batch(2) | list
l | batch(2, 0) | list
l | slice(2) | list
[1,2,3,4,5] | slice(3, 'x') | list
[1, 2.5] | sum
[[1], [2]] | sum(start=[])
['a'] | sum
words | map('upper') | list
words | map('replace', 'a', 'o') | join(' ')
rows | map(attribute='k') | list
rows | map(attribute='k', default='-') | list
words | select('equalto', 'beta') | list
l | select('gt', 1) | list
l | select('odd') | list
l | reject('odd') | list
[0, 1, '', 'a', none] | select | list
rows | selectattr('k') | list | length
rows | selectattr('k', 'defined') | list | length
rows | selectattr('v', 'ge', 3) | map(attribute='v') | list
rows | rejectattr('k', 'undefined') | map(attribute='v') | list
rows | rejectattr('v', 'in', [1, 2]) | list
l | map('string') | join
l | map
words | map('nope') | list
words | select('nope') | list
empty | map('nope') | list
rows | map(attribute='k.0') | list
d | dictsort
d | dictsort(by='value')
d.n | dictsort
d | items | list
d.items() | list
d.keys() | list
d.values() | list
d.get('b')
d.get('zz')
d.get('zz', 1)
d | list
d | length
d.n.items()
rows | groupby('v') | list | length
rows | selectattr('k', 'defined') | groupby('k') | map(attribute='grouper') | list
rows | selectattr('k', 'defined') | groupby('k') | map('last') | map('length') | list
d | tojson
d.keys()
d.copy()
d.update({})
l.append(1)
d.pop('b')
'a' | attr('upper')
d | attr('b')
d | attr('zz')
'42' | int
'4.7' | int
'x' | int
'x' | int(5)
4.9 | int
-4.9 | int
true | int
none | int
' 1_0 ' | int
'ff' | int(base=16)
'1e2' | float
'x' | float
'inf' | float
3 | float
2.5 | round
3.5 | round
-2.5 | round
2.675 | round(2)
2.1 | round(1, 'ceil')
2.19 | round(1, 'floor')
3 | round
3.7 | round | int
-3 | abs
-3.5 | abs
'a' | abs
1 | filesizeformat
1500 | filesizeformat
123456789 | filesizeformat(true)
42.5 | string
i | string ~ 'x'
true | string
tools | tojson
tools | tojson(indent=2)
tools | tojson(indent=0)
[] | tojson(indent=2)
{} | tojson(indent=4)
'é🙂"\\/\x7f\x01\n' | tojson
'é🙂\x7f' | tojson(ensure_ascii=true)
{'b': 1, 'a': [1, 2]} | tojson(sort_keys=true)
{'b': 1, 'a': [1, 2]} | tojson(separators=(',', ':'))
{1: none, none: true, 2.5: 1e20} | tojson
(1, 2) | tojson
x | tojson
l | map('string') | tojson
range(2) | tojson
'<&\'>' | tojson
1e16 | tojson
d | tojson(indent='--')
[[], [[]], {'a': {}}] | tojson(indent=1)
1.0 | tojson
'a,b,c'.split(',')
'a,b,c'.split(',', 1)
' a  b '.split()
' a  b c '.split(none, 1)
'a,b,c'.rsplit(',', 1)
' a  b c '.rsplit(none, 1)
'abc'.split('')
'a\nb\r\nc\n'.splitlines()
'a\nb'.splitlines(true)
text.startswith('one')
text.startswith(('x', 'one'))
text.startswith('two', 4)
text.endswith('four')
text.find('two')
text.find('zz')
text.index('zz')
text.rfind('e')
'ab'.upper()
'aB cD'.title()
'ab'.capitalize()
'xax'.strip('x')
' a '.lstrip() ~ '|'
' a '.rstrip() ~ '|'
'aXb'.lower()
'a-b'.replace('-', '+')
'aaa'.replace('a', 'b', 2)
'aaa'.count('a')
'aaa'.count('')
'-'.join(words)
'-'.join([1])
'abc'.isupper()
'ABC'.isupper()
'abc1'.isalnum()
'abc'.isalpha()
'12'.isdigit()
''.isdigit()
' '.isspace()
'a'.islower()
'ab'.zfill(5)
'-4'.zfill(5)
'ab'.center(7, '*')
'ab'.ljust(5) ~ '|'
'ab'.rjust(5, 'é')
'a=b=c'.partition('=')
'a=b=c'.rpartition('=')
'abc'.partition('x')
'prefix-a'.removeprefix('prefix-')
'a.txt'.removesuffix('.txt')
'{} {}'.format(1, 'a')
'{1}{0}'.format('a', 'b')
'{a}-{b[0]}-{c.x}'.format(a=1, b=[2], c={'x': 3})
'{:>5}|{:<5}|{:^5}|{:*^7}'.format('a', 'b', 'c', 'd')
'{:05.2f} {:+d} {:x} {:,}'.format(2.5, 3, 255, 1234567)
'{{}}'.format()
'{!r}'.format('a')
'{}'.format()
'%d items, %s, %5.2f%%, %r' % (3, 'x', 1.5, 'q')
'%s' % none
'%s' % [1]
'%(b)s and %(a)s' % d
'%d' % 'a'
'%s %s' % ('a',)
'%5s|%-5s|%05d|%x' % ('a', 'b', 42, 255)
'abc'.nope()
'abc'.nope
'Σας'.upper()
'ß'.upper()
'é'.upper()
1 is number
true is number
true is boolean
true is integer
1 is integer
1.0 is float
1.0 is integer
'a' is string
none is none
d is mapping
l is sequence
d is sequence
'a' is sequence
1 is sequence
l is iterable
1 is iterable
i is divisibleby 7
i is divisibleby(2)
i is odd
2.0 is even
'abc' is lower
'ABC' is upper
1 is eq 1
1 is ne 2
2 is gt 1
1 is in l
5 is not in [1]
n is sameas none
true is true
1 is true
false is false
range is callable
'upper' is filter
'nope' is filter
'odd' is test
x is not defined
1 is string or true
3 is lessthan 4 and true
l is nope
range(3)
range(1, 7, 2) | list
range(5, 0, -2) | list
range(0) | list
range(3)[1]
range(200000)
dict(a=1, b=2)
dict([('a', 1)])
dict({'a': 1}, b=2)
namespace(a=1).a
namespace(a=1)
raise_exception('no')
'<b>' | e
'<b>' | escape ~ '<i>'
'<b>' | safe
('<b>' | safe) + '<i>'
'<' + ('<b>' | e)
'<b>' | e | upper
strftime_now('')
strftime_now('%%')
lipsum is defined
l | list == [3, 1, 2]
[1, 2] == (1, 2)
{'a': 1} == {'a': 1.0}
'a' == 'a'
none == false
1 != 2
{'a': 1} in [{'a': 1}]
[1] + [2]
(1,) + (2,)
[1] + (2,)
{'a': 1}['a']
{1: 'x'}[1.0]
{true: 'x'}[1]
[[1, 2], [3]][0][1]
{'a': 1, 'a': 2}
{[1]: 2}
""".strip().split("\n")
BODIES = [
    "{% for m in messages %}{{ loop.index }}/{{ loop.length }} {{ loop.first }} {{ loop.last }} {{ loop.revindex }} {{ loop.revindex0 }} {{ loop.index0 }} {{ loop.depth }}\n{% endfor %}",
    "{% for m in messages %}{{ loop.previtem.role if loop.previtem is defined else '-' }} {{ loop.nextitem.role | default('-') }} {{ loop.cycle('a', 'b') }} {{ loop.changed(m.role) }};{% endfor %}",
    "{% for m in messages if m.role == 'user' %}{{ loop.index }}{{ loop.last }}{{ loop.length }}{{ m.content }}{% else %}none{% endfor %}",
    "{% for m in messages if m.role == 'x' %}a{% else %}none{% endfor %}{% for x in [] %}a{% else %}empty{% endfor %}",
    "{% for a, b in [(1, 2), (3, 4)] %}{{ a }}-{{ b }} {% endfor %}{% for k, v in d.n.items() %}{{ k }}={{ v }}{% endfor %}",
    "{% for a, b in [(1, 2, 3)] %}{{ a }}{% endfor %}",
    "{% for x in none %}{% endfor %}",
    "{% for x in 5 %}{% endfor %}",
    "{% for c in 'aé🙂' %}[{{ c }}]{% endfor %}",
    "{% for k in d %}{{ k }},{% endfor %}",
    "{% for i in range(5) %}{% if i == 1 %}{% continue %}{% endif %}{% if i == 3 %}{% break %}{% endif %}{{ i }}{% endfor %}|{{ i }}",
    "{% set x = 1 %}{% for y in l %}{% set x = x + y %}{{ x }} {% endfor %}{{ x }}",
    "{% set ns = namespace(x=1) %}{% for y in l %}{% set ns.x = ns.x + y %}{% endfor %}{{ ns.x }}",
    "{% if true %}{% set x = 1 %}{% endif %}{{ x }}",
    "{% if false %}{% set i = 1 %}{% endif %}{{ i }}",
    "{% set i = 1 %}{{ i }}",
    "{{ i }}{% set i = 1 %}{{ i }}",
    "{% for m in l %}{{ i }}{% endfor %}{% set i = 1 %}",
    "{% for m in l %}{% if loop.first %}{% set z = m %}{% endif %}{{ z }};{% endfor %}",
    "{% for m in l %}{% set z = m %}{% endfor %}{{ z }}",
    "{% set z = 0 %}{% for m in l %}{% if m == 1 %}{% set z = m %}{% endif %}{{ z }};{% endfor %}{{ z }}",
    "{% for i in l %}{{ i }}{% endfor %}{{ i }}",
    "{% set a, b = 1, 2 %}{{ a }}{{ b }}",
    "{% set (a, b) = [1, 2] %}{{ a + b }}",
    "{% set a = b = 1 %}",
    "{% set x %}a{{ i }}b{% endset %}{{ x }}",
    "{% set x | upper | replace('A', 'o') %}a{{ i }}b{% endset %}{{ x }}",
    "{% set d.x = 1 %}",
    "{% set ns = namespace() %}{% set ns._x = 1 %}",
    "{% set ns = namespace({'a': 1}, b=2) %}{{ ns.a + ns.b }}{{ ns.c }}|{{ ns['a'] }}",
    "{% macro f(a, b=2, c=a) %}{{ a }}-{{ b }}-{{ c }}{% endmacro %}{{ f(1) }} {{ f(1, 3) }} {{ f(b=5, a=4) }} {{ f() }}",
    "{% macro f(a) %}{{ a }}{% endmacro %}{{ f(1, 2) }}",
    "{% macro f(a) %}{{ a }}{% endmacro %}{{ f(z=2) }}",
    "{% macro f() %}{{ varargs }}{{ kwargs }}{% endmacro %}{{ f(1, 2, x=3) }}",
    "{% macro f(n) %}{{ n }}{% if n > 0 %}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(5) }}",
    "{% macro f() %}{{ q }}{% endmacro %}{% set q = 1 %}{{ f() }}{% set q = 2 %}{{ f() }}",
    "{% macro f() %}{% set q = 5 %}{{ q }}{% endmacro %}{% set q = 1 %}{{ f() }}{{ q }}",
    "{% macro f(x) %}  {{ x }}  {% endmacro %}[{{ f('a') | trim }}]{{ f('a').strip() ~ '!' }}{{ f is callable }}{{ f }}",
    "{% macro wrap() %}<{{ caller() }}>{% endmacro %}{% call wrap() %}in{{ i }}{% endcall %}",
    "{% macro each(x) %}{% for y in x %}{{ caller(y, loop.index) }};{% endfor %}{% endmacro %}{% call(v, n=0) each(l) %}{{ n }}:{{ v }}{% endcall %}",
    "{% macro f() %}{{ caller }}|{{ caller is defined }}{% endmacro %}{{ f() }}",
    "{% macro f() %}{{ caller() }}{% endmacro %}{{ f() }}",
    "{% for m in l %}{% macro f() %}{{ m }}{% endmacro %}{{ f() }}{% endfor %}",
    "{{ f() }}{% macro f() %}x{% endmacro %}",
    "{% if true %}{% macro f() %}x{% endmacro %}{% endif %}{{ f() }}",
    "{% macro t(x) %}{{ x }}{% endmacro %}{{ 'q' if not t('Hi').endswith('/q') else '' }}",
    "{% macro tree(x) %}{% for k, v in x.items() %}{{ k }}{% if v is mapping %}({{ tree(v) }}){% elif v is iterable and v is not string %}[{{ v | length }}]{% endif %} {% endfor %}{% endmacro %}{{ tree(tools[0]) }}",
    "{% for x in [[1, [2]], [3]] recursive %}{% if x is iterable %}({{ loop(x) }}){{ loop.depth }}{% else %}{{ x }}{% endif %}{% endfor %}",
    "{% for x in l %}{{ loop(x) }}{% endfor %}",
    "{% with a = 1, b = i %}{{ a }}{{ b }}{% set i = 9 %}{{ i }}{% endwith %}{{ a }}{{ i }}",
    "{% with %}{% set q = 1 %}{{ q }}{% endwith %}{{ q }}",
    "{% with a=1, b=a %}{{ b }}{% endwith %}",
    "{% filter upper | replace('A', '*') %}a{{ text }}{% endfilter %}",
    "{% print 1, 'a' %}",
    "{% do l %}",
    "{% nope %}",
    "{% raw %}{{ x }}{% y %}{% endraw %}",
    "a{%- raw -%}  {{ x }}  {%- endraw -%}  b",
    "{# c #}a{#- d -#}  b",
    "a  {#- d #}\n  b",
    "  {% if true %}  \n  x\n  {% endif %}\n  y\n",
    "\n  {%- if true -%}\n  x  {%+ if true %}  y{% endif %}\n{% endif %}z",
    "a\n{{ 'b' }}\nc\n\n",
    "a\r\nb\rc\n",
    "  {{- 'x' -}}  \n y",
    "{% if true %}\n\na{% endif -%}  \n b",
    "\t{% set a = 1 %}\n\t{{ a }}",
    "{% set a = 1 +%}\nb",
    "x {%+ if true %}a{% endif %}",
    "\u00a0{%- if true %}a{% endif -%}\u3000b",
    "{% if true: %}a{% endif %}",
    "{{ 'a' }",
    "{{ 'a' ",
    "{% if true %}a",
    "{% for x in l %}",
    "{{ 'a }}",
    "{{ (1 }}",
    "{{ a b }}",
    "{{ }}",
    "{% if %}a{% endif %}",
    "{{ 1 | nope }}",
    "{{ x | }}",
    "{% set 1 = 2 %}",
    "{% macro f(a=1, b) %}{% endmacro %}",
    "{{ f(a=1, 2) }}",
    "{% break %}",
    "{{ '{{' }}{{ '%}' }}",
    "{{ {'a': {'b': 1}}['a']['b'] }}",
    "{{ {'a': '}}'}['a'] }}",
    "{% if i == 7 %}a{% elif i == 8 %}b{% else %}c{% endif %}{% if n %}a{% elif l %}b{% endif %}{% if x %}a{% elif y %}b{% else %}c{% endif %}",
    "{% set x = [] %}{% for m in messages %}{% set x = x + [m.role] %}{% endfor %}{{ x }}",
    "{% set ns = namespace(l=[]) %}{% for m in messages %}{% set ns.l = ns.l + [m.role] %}{% endfor %}{{ ns.l | join(',') }}",
    "{{ f(*[1, 2], **{'c': 3}) }}{% macro f(a, b, c) %}{% endmacro %}",
    "{% macro f(a, b, c) %}{{ a }}{{ b }}{{ c }}{% endmacro %}{{ f(*[1, 2], **{'c': 3}) }}",
    "{{ dict(**{'a': 1}) }}",
    "{{ [1, 2, 3,] }}{{ {'a': 1,} }}{{ (1, 2,) }}",
    "{{ not true == false }}",
    "{{ 1 if true }}{{ 2 if false }}",
    "{{ l | map('string') | join(',') | upper ~ '!' }}",
    "{{ 'a' | upper ~ 'b' | upper }}",
    "{{ -1 | abs }}{{ (-1) | abs }}",
    "{{ 1 + 2 | string }}",
    "{{ l | length > 2 }}",
    "{{ 'a' in text | upper }}",
    "{{ messages[0]['content'][:5] + '...' }}",
    "{{ messages[-1].content | e }}",
    "{{ messages | map(attribute='role') | list | unique | list }}",
    "{{ messages | selectattr('role', 'equalto', 'user') | map(attribute='content') | join('|') }}",
    "{{ messages | length }}{{ messages | last | length }}",
    "{{ messages[1:] | length }}{{ (messages | first).role }}",
    "{% generation %}a{% endgeneration %}b",
    "{% set z = 1 %}{% generation %}{% set z = 2 %}{{ z }}{% endgeneration %}{{ z }}",
    "{% for m in messages %}{% generation %}{{ m.role }}{{ loop.index }}{% endgeneration %}\n{% endfor %}",
    "{% for x in l %}{{ loop }}{% endfor %}",
    "{{ loop }}",
    "{{ 'a'.upper }}",
    "{{ l | map('string') }}",
    "{{ d.__class__ }}",
    "{{ d['__class__'] }}",
    "{{ ''.__class__.__mro__ }}",
    "{{ (d.__class__) is defined }}",
    "{{ 'a' * 10 }}{{ [0] * 3 }}",
    "{{ [[1, 2], [3, 4]] | map('sum') | list }}",
    "{{ 'a\tb' }}",
    "{% set x = 'a' %}{{- x }}\n{{ x -}}\n",
    "{{ 9223372036854775807 }}",
    "{{ '%s' | format(none) }}",
    "{{ ['a', 'b'] | map('upper') | first }}",
    "{% set it = ['a', 'b'] | map('upper') %}{{ it | first }}{{ it | list }}{{ it | list }}",
    "{{ text.split('\\n')[-1].strip().split(' ')[0] }}",
    "{% for k, v in d | dictsort %}{{ k }}{{ v }};{% endfor %}",
    "{% for g in rows | selectattr('k', 'defined') | groupby('k') %}{{ g.grouper }}:{{ g.list | length }};{% endfor %}",
    "{% for k, g in rows | selectattr('k', 'defined') | groupby('k', case_sensitive=true) %}{{ k }}:{{ g | length }};{% endfor %}",
]



def cases():
    return ["{{ " + one + " }}" for one in EXPRESSIONS] + BODIES + ["{{ 'a\\\nb' }}"]


def rendered():
    """As transformers sets jinja2 up."""
    from transformers.utils.chat_template_utils import _compile_jinja_template
    out = []
    for template in cases():
        try:
            out.append({
                "template": template, "text": _compile_jinja_template(template).render(**VARIABLES)
            })
        except Exception as problem:  # noqa: BLE001 (any refusal)
            out.append({
                "template": template,
                "refused": f"{type(problem).__name__}: {problem}".replace("\n", " ")[:120]
            })
    # Addresses differ each time.
    return [
        one if " at 0x" not in one.get("text", "") else
        {"template": one["template"], "refused": "an address"} for one in out
    ]


if __name__ == "__main__":
    text = json.dumps({"variables": VARIABLES, "cases": rendered()}, ensure_ascii=False, indent=0)
    RECORDED.write_text(text + "\n")
    sys.stdout.write(f"{len(cases())} cases\n")
