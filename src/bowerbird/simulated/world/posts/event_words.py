"""What people call an event: nouns, a verb and a phrase for each kind of event in each language, and invented names of places."""

from __future__ import annotations

import re

from bowerbird.simulated.world.people.vocabulary import FAMILY, GIVEN

_WORDS = {
    "derby": {
        "en": "derby stadium goalkeeper scored|penalty kick",
        "pt": "dérbi estádio guarda-redes marcou|grande penalidade",
        "es": "derbi estadio portero marcó|tiro penal",
        "fr": "derby stade gardien marqué|coup franc",
        "de": "Derby Stadion Torwart getroffen|rote Karte",
        "it": "derby stadio portiere segnato|calcio rigore",
        "ja": "ダービー スタジアム キーパー 得点|ペナルティ キック",
    },
    "quake": {
        "en": "quake tremor rubble collapsed|aftershock warning",
        "pt": "sismo abalo escombros desabou|alerta réplica",
        "es": "terremoto temblor escombros derrumbó|alerta réplica",
        "fr": "séisme secousse décombres effondré|alerte réplique",
        "de": "Erdbeben Beben Trümmer eingestürzt|Warnung Nachbeben",
        "it": "terremoto scossa macerie crollato|allerta replica",
        "ja": "地震 震度 がれき 倒壊|余震 警報",
    },
    "storm": {
        "en": "storm flooding gusts evacuated|emergency shelter",
        "pt": "tempestade inundação rajadas evacuados|abrigo provisório",
        "es": "tormenta inundación ráfagas evacuados|refugio provisional",
        "fr": "tempête inondation rafales évacués|abri provisoire",
        "de": "Sturm Überschwemmung Böen evakuiert|sichere Notunterkunft",
        "it": "tempesta alluvione raffiche evacuati|rifugio provvisorio",
        "ja": "台風 洪水 突風 避難|緊急 避難所",
    },
    "final": {
        "en": "final trophy overtime champions|golden medal",
        "pt": "final troféu prolongamento campeões|medalha ouro",
        "es": "final trofeo prórroga campeones|medalla oro",
        "fr": "finale trophée prolongation champions|médaille or",
        "de": "Finale Pokal Verlängerung Meister|goldene Medaille",
        "it": "finale trofeo supplementari campioni|medaglia oro",
        "ja": "決勝 優勝 延長 王者|金 メダル",
    },
    "strike": {
        "en": "strike union picket walked|pay rise",
        "pt": "greve sindicato piquete paralisou|aumento salarial",
        "es": "huelga sindicato piquete paralizó|subida salarial",
        "fr": "grève syndicat piquet paralysé|hausse salariale",
        "de": "Streik Gewerkschaft Warnstreik bestreikt|höherer Lohn",
        "it": "sciopero sindacato picchetto bloccato|aumento salariale",
        "ja": "ストライキ 組合 デモ 抗議|賃金 交渉",
    },
    "festival": {
        "en": "festival headliner encore performed|main stage",
        "pt": "festival cartaz encore atuou|palco principal",
        "es": "festival cartel bis actuó|escenario principal",
        "fr": "festival affiche rappel joué|grande scène",
        "de": "Festival Auftritt Zugabe aufgetreten|große Bühne",
        "it": "festival scaletta bis esibito|palco principale",
        "ja": "フェス 出演 アンコール 熱唱|メイン ステージ",
    },
    "vote": {
        "en": "vote ballots turnout elected|exit poll",
        "pt": "votação boletins afluência eleito|sondagem final",
        "es": "votación papeletas participación elegido|encuesta final",
        "fr": "scrutin bulletins participation élu|sondage final",
        "de": "Wahl Stimmzettel Wahlbeteiligung gewählt|erste Hochrechnung",
        "it": "voto schede affluenza eletto|sondaggio finale",
        "ja": "投票 開票 投票率 当選|出口 調査",
    },
    "eclipse": {
        "en": "eclipse totality telescope darkened|solar corona",
        "pt": "eclipse totalidade telescópio escureceu|coroa solar",
        "es": "eclipse totalidad telescopio oscureció|corona solar",
        "fr": "éclipse totalité télescope obscurci|couronne solaire",
        "de": "Finsternis Totalität Teleskop verdunkelt|leuchtende Korona",
        "it": "eclissi totalità telescopio oscurato|corona solare",
        "ja": "日食 皆既 望遠鏡 観測|太陽 コロナ",
    },
    "parade": {
        "en": "parade floats confetti marched|brass band",
        "pt": "desfile carros confetes desfilou|banda filarmónica",
        "es": "desfile carrozas confeti desfiló|banda municipal",
        "fr": "défilé chars confettis défilé|fanfare municipale",
        "de": "Parade Festwagen Konfetti marschiert|laute Blaskapelle",
        "it": "parata carri coriandoli sfilato|banda comunale",
        "ja": "パレード 山車 紙吹雪 行進|吹奏楽 隊",
    },
    "summit": {
        "en": "summit delegates treaty signed|climate deal",
        "pt": "cimeira delegados tratado assinou|acordo climático",
        "es": "cumbre delegados tratado firmó|acuerdo climático",
        "fr": "sommet délégués traité signé|accord climatique",
        "de": "Gipfel Delegierte Vertrag unterzeichnet|globales Klimaabkommen",
        "it": "vertice delegati trattato firmato|accordo climatico",
        "ja": "首脳 代表団 条約 署名|気候 合意",
    },
    "launch": {
        "en": "launch rocket booster lifted|mission control",
        "pt": "lançamento foguetão propulsor descolou|centro controlo",
        "es": "lanzamiento cohete propulsor despegó|control misión",
        "fr": "lancement fusée propulseur décollé|centre contrôle",
        "de": "Raketenstart Rakete Triebwerk abgehoben|zweite Raketenstufe",
        "it": "lancio razzo propulsore decollato|centro controllo",
        "ja": "打ち上げ ロケット エンジン 発射|管制 室",
    },
    "blackout": {
        "en": "blackout outage generators flickered|power grid",
        "pt": "apagão avaria geradores falhou|rede elétrica",
        "es": "apagón avería generadores falló|red eléctrica",
        "fr": "panne coupure générateurs disjoncté|réseau électrique",
        "de": "Stromausfall Störung Generatoren ausgefallen|marodes Stromnetz",
        "it": "blackout guasto generatori saltata|rete elettrica",
        "ja": "停電 障害 発電機 復旧|電力 網",
    },
}
KINDS = tuple(_WORDS)
"""The kinds of events, in English as in hashtags."""

_PARTS = """ba be bi bo da de do fa ga go ka ke ki ko la le li lo ma me mi mo na no ra re ri ro sa ta to va"""
_SYLLABLES = _PARTS.split()
_BITS = 5
_PLACE_BITS = 4 * _BITS
_SCRAMBLE = 0x6B3A5
"""Odd, so that multiplying by it modulo a power of two can be undone."""
_UNSCRAMBLE = pow(_SCRAMBLE, -1, 1 << _PLACE_BITS)
PLACE_PATTERN = f"(?:{'|'.join(_SYLLABLES)}){{4}}"
_PLACE_SYLLABLES = re.compile("|".join(_SYLLABLES))


def kind_words(kind: str, language: str) -> tuple[str, ...]:
    """Return three nouns, a verb, and a phrase of two words."""
    words, _, phrase = _WORDS[kind][language].partition("|")
    return (*words.split(), phrase)


def all_words(language: str) -> tuple[str, ...]:
    """Return the words of all kinds of events, which people use now and then without an event."""
    words = (word for kind in KINDS for term in kind_words(kind, language) for word in term.split())
    return tuple(dict.fromkeys(words))


def place_name(event: int) -> str:
    """Return the name of the place of an event, in lower case; no two events have the same."""
    code = event * _SCRAMBLE % (1 << _PLACE_BITS)
    return "".join(_SYLLABLES[(code >> (_BITS * nth)) & 31] for nth in range(4))


def event_at_place(place: str) -> int:
    """Return the event that a place name belongs to."""
    code = sum(_SYLLABLES.index(each) << (_BITS * nth) for nth, each in enumerate(_PLACE_SYLLABLES.findall(place)))
    return code * _UNSCRAMBLE % (1 << _PLACE_BITS)


def person_name(event: int) -> str:
    """Return the name of the person that an event is about."""
    code = event * _SCRAMBLE
    return f"{GIVEN[code % len(GIVEN)]} {FAMILY[code // 7 % len(FAMILY)]}"
