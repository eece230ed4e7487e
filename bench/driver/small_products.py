"""Rows where some products gain nothing in fp8: as trainx chooses, all in fp8, and bf16."""
import steps

ALL, BF16 = "all in fp8", "trainx bf16"


def row(size, batch, scaling):
    of = steps.gpt2(size, batch, None, None, None)
    in_fp8 = [*of["overrides"], "precision.products=fp8", f"precision.scaling={scaling}"]
    return {**of, "name": f"{of['name']}-{scaling}", "title": f"{of['title']}, {scaling} scales",
            "overrides": in_fp8, "peers": {}, "against": ALL,
            "variants": {ALL: [*in_fp8, "precision.small_products=fp8"], BF16: of["overrides"]}}


def rows(tiny=False):
    small = [row("124m", batch, scaling) for scaling in ("delayed", "current")
             for batch in (1, 2, 4, 8, 16)]
    return small[:1] if tiny else [*small, row("350m", 2, "delayed"), row("350m", 4, "delayed")]
