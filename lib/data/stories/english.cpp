#include "data/stories/english.hpp"

namespace trainx::data::stories {

const std::vector<WordClass>& word_classes() {
  static const std::vector<WordClass> classes{
      {"he_kind", "boy king prince miller giant knight fox bear wolf frog rabbit goat"},
      {"she_kind", "girl queen princess witch maid fairy hen cat duck mouse cow swan"},
      {"kinds", "boys girls kings princesses knights fairies foxes bears wolves cats ducks goats"},
      {"he_name", "Tom Jack Ben Max Sam Leo Tim Finn Hugo Otto Felix Oscar"},
      {"she_name", "Anna Lily Mia Rose Emma Clara Lucy Nora Ella Ruby Ida Alice"},
      // Traits, sizes and looks follow "a": none begins with a vowel.
      {"trait",
       "little brave kind clever lazy shy proud gentle lonely curious cheerful funny quiet noisy "
       "polite greedy hungry sleepy young tall"},
      {"size", "small big tiny huge cozy wooden crooked pretty"},
      {"house", "house hut cottage cabin barn tent cellar palace"},
      {"scenery",
       "dark green old deep quiet wide cold sunny misty narrow steep empty hidden distant"},
      {"home", "village castle mill bridge market farm orchard harbor town tower"},
      {"place",
       "forest river hill lake meadow valley cave garden mountain field pond beach swamp desert "
       "island cliff"},
      {"relative",
       "mother father brother sister uncle aunt grandmother grandfather cousin neighbor"},
      {"activity",
       "sing dance swim run play read climb fish dream whistle paint cook draw hide laugh walk "
       "jump dig rest travel"},
      {"food",
       "bread cheese soup honey cake apples berries nuts milk pie corn fish plums pears eggs "
       "porridge"},
      {"feeling",
       "happy sad tired angry afraid glad thirsty cold surprised worried calm excited proud hungry "
       "bored confused thankful sorry"},
      {"time",
       "day morning evening afternoon night winter summer spring autumn Monday Friday Sunday"},
      {"look",
       "red blue yellow golden silver shiny round broken heavy soft strange magic pretty rusty "
       "tiny white black wooden"},
      {"thing",
       "key ring ball drum book lamp hat coin bell kite boat box flute mirror crown sword shoe "
       "basket map rope stone feather shell "
       "blanket cup doll candle spoon wheel ladder bottle letter"},
      {"cover", "tree bush bench rock table leaf fern log hedge wagon pillow carpet"},
      {"moved", "walked ran hurried wandered raced marched sailed crept rode jumped"},
      {"carried", "carried pulled pushed dragged rolled brought"},
      {"manner", "slowly quickly quietly happily softly gladly merrily carefully calmly bravely"},
      {"number", "two three four five six seven"},
  };
  return classes;
}

const std::vector<Form>& forms() {
  static const std::vector<Form> all{
      {"he", "he", "she", "they"},
      {"He", "He", "She", "They"},
      {"him", "him", "her", "them"},
      {"his", "his", "her", "their"},
      {"himself", "himself", "herself", "themselves"},
      {"was", "was", "was", "were"},
  };
  return all;
}

const std::vector<Act>& acts() {
  static const std::vector<Act> all{
      // who and where
      {{2,
        "Once upon a time there was a [trait] [kind>hero] named [name>hero_name] near the "
        "[scenery] [home>home] ."},
       {4,
        "Once a [trait] [kind>hero] named [name>hero_name] lived in a [size] [house] near the "
        "[scenery] [home>home] ."},
       {1,
        "Once upon a time there were [number] [trait] [kinds>hero] near the [scenery] [home>home] "
        "."},
       {3,
        "Long ago [number] [trait] [kinds>hero] lived in a [size] [house] near the [scenery] "
        "[home>home] ."}},
      // every day
      {{1,
        "{Hero} loved to [activity>deed] and to [activity>deed] with {his} [trait] [relative] ."},
       {1, "Every [time] {he} ate [food>food] , [food>food] and [food>food] ."},
       {1, "{Hero} {was} often [feeling] because {his} [relative] ate [food>food] [manner] ."}},
      // a find
      {{1,
        "One [time] {he} [moved] [manner] to the [scenery] [place] and found a [look] "
        "[thing>prize] under a [look] [cover] ."},
       {1,
        "One [time] {hero} [manner] [carried] a [look] [thing>prize] out of the [scenery] [place] "
        "."}},
      // about it
      {{1, "The (prize) was [look>look] and [look>look] ."},
       {1, "{He} [carried] the (prize) [manner] ."}},
      // somebody comes
      {{1, "There {he} met a [trait] [kind>friend] named [name>friend_name] ."},
       {1,
        "Soon a [trait] [kind>friend] named [name>friend_name] [moved] up [manner] and greeted "
        "{him} ."}},
      // who wants the same
      {{1, "(friend_name) needed the (prize) to [activity] [manner] ."},
       {1, "The (friend) was [feeling] because {friend:his} [relative] had lost the (prize) ."},
       {1, "(friend_name) told {hero} [manner] that {friend:he} liked the (prize) ."}},
      // a long way: the verb and the pronouns agree with a subject ten words and more before
      {{1,
        "The (hero) , who had [carried] the (prize) from the [scenery] [place] to the (home) "
        "[manner] , {was} too [feeling] to [activity] ."},
       {1,
        "The (hero) , who knew that the (friend) came from the [scenery] [place] behind the (home) "
        ", {was} [feeling] and smiled [manner] to {himself} ."}},
      // the end
      {{1, "So {hero} gave the (prize) to (friend_name) for [food>food] and [food>food] . <end>"},
       {1, "So {hero} [manner] hid the (prize) under a [look] [cover] near the (home) . <end>"},
       {1, "So {he} and (friend_name) sold the (prize) for [number] [look] coins . <end>"},
       {1,
        "From that [time] on (friend_name) and the (hero) lived [manner] near the (home) . <end>"}},
  };
  return all;
}

}  // namespace trainx::data::stories
