"""What the accounts of the synthetic world write with: languages, places, names. Small on purpose, written for this world."""

from __future__ import annotations

from msgspec import Struct

WORDS_PER_LANGUAGE = 64

_EN = """the and we you this that with from about today morning people city work music game weather coffee
friends really never always new old good bad great small news story photo video look think know want
need love hate make take give find read write play watch listen time night week year home street
train school team night market river song book light rain sun"""
_PT = """que não uma com para mais você isso muito hoje amanhã ontem gente cidade trabalho música jogo tempo
café amigos nunca sempre novo velho bom mau grande pequeno notícia história foto vídeo olha acho sei
quero preciso amo odeio fazer tomar dar achar ler escrever jogar ver ouvir noite semana ano casa rua
comboio escola equipa mercado rio canção livro luz chuva sol também porque então"""
_ES = """que una con para más usted esto mucho hoy mañana ayer gente ciudad trabajo música juego tiempo café
amigos nunca siempre nuevo viejo bueno malo grande pequeño noticia historia foto vídeo mira creo sé
quiero necesito amo odio hacer tomar dar encontrar leer escribir jugar ver oír noche semana año casa
calle tren escuela equipo mercado río canción libro luz lluvia sol también porque entonces"""
_FR = """que une avec pour plus vous cela beaucoup aujourd'hui demain hier gens ville travail musique jeu
temps café amis jamais toujours nouveau vieux bon mauvais grand petit nouvelle histoire photo vidéo
regarde crois sais veux besoin aime déteste faire prendre donner trouver lire écrire jouer voir
écouter nuit semaine année maison rue train école équipe marché rivière chanson livre lumière pluie
soleil aussi parce alors"""
_DE = """dass eine mit für mehr ihr dieses sehr heute morgen gestern Leute Stadt Arbeit Musik Spiel Wetter
Kaffee Freunde nie immer neu alt gut schlecht groß klein Nachricht Geschichte Foto Video schau
glaube weiß will brauche liebe hasse machen nehmen geben finden lesen schreiben spielen sehen hören
Nacht Woche Jahr Haus Straße Zug Schule Mannschaft Markt Fluss Lied Buch Licht Regen Sonne auch weil
dann"""
_IT = """che una con per più voi questo molto oggi domani ieri gente città lavoro musica gioco tempo caffè
amici mai sempre nuovo vecchio buono cattivo grande piccolo notizia storia foto video guarda credo
so voglio bisogno amo odio fare prendere dare trovare leggere scrivere giocare vedere ascoltare
notte settimana anno casa strada treno scuola squadra mercato fiume canzone libro luce pioggia sole
anche perché allora"""
_JA = """今日 は とても いい 天気 です ね 明日 また 会い ましょう 東京 駅 で 友達 と コーヒー を 飲み
ました 音楽 聞き ます 仕事 終わり 疲れ た 楽しい 新しい 写真 見て ください 本 読む 夜 朝 雨
太陽 川 歌 学校 電車 チーム 試合 勝ち 負け ニュース 大きい 小さい 好き 嫌い 行く 来る 作る
食べる 店 市場 家 道 週末 去年 今年 本当 に ありがとう おはよう"""

VOCABULARY: dict[str, tuple[str, ...]] = {
    language: tuple((text.split() * 2)[:WORDS_PER_LANGUAGE])
    for language, text in {"en": _EN, "pt": _PT, "es": _ES, "fr": _FR, "de": _DE, "it": _IT, "ja": _JA}.items()
}


class Town(Struct, frozen=True):
    """Where a community lives: language, place and time zone."""

    name: str
    country: str
    code: str
    language: str
    utc_hours: float
    latitude: float
    longitude: float
    woeid: int


TOWNS = (
    Town("London", "United Kingdom", "GB", "en", 0, 51.507, -0.128, 44418),
    Town("New York", "United States", "US", "en", -5, 40.713, -74.006, 2459115),
    Town("São Paulo", "Brazil", "BR", "pt", -3, -23.551, -46.633, 455827),
    Town("Porto", "Portugal", "PT", "pt", 0, 41.158, -8.629, 746203),
    Town("Madrid", "Spain", "ES", "es", 1, 40.417, -3.704, 766273),
    Town("Ciudad de México", "Mexico", "MX", "es", -6, 19.433, -99.133, 116545),
    Town("Paris", "France", "FR", "fr", 1, 48.857, 2.352, 615702),
    Town("Berlin", "Germany", "DE", "de", 1, 52.520, 13.405, 638242),
    Town("Roma", "Italy", "IT", "it", 1, 41.903, 12.496, 721943),
    Town("東京", "Japan", "JP", "ja", 9, 35.677, 139.650, 1118370),
    Town("Los Angeles", "United States", "US", "en", -8, 34.052, -118.244, 2442047),
    Town("Sydney", "Australia", "AU", "en", 10, -33.869, 151.209, 1105779),
)

_TOPICS = """football music photography cooking election cycling books cinema theatre gardening climate science travel
history radio chess trains birds astronomy running coffee gaming fashion startup poetry jazz comics hiking
fishing knitting opendata museum"""
TOPICS = tuple(_TOPICS.split())

_EVENTS = """derby quake storm final strike festival vote eclipse parade summit launch blackout"""
EVENTS = tuple(_EVENTS.split())
VARIANTS = ("", "live", "now", "news")
"""An event's main tag and the related ones that rise with it."""

_GIVEN = """Ana Bruno Carla Diego Elena Felix Greta Hugo Ines Jonas Kenji Laura Marco Nina Oscar Paula Quentin Rosa Sofia
Tiago Uma Viktor Wanda Xavier Yuki Zoe Amir Bea Chloe Dario Emil Fatima"""
GIVEN = tuple(_GIVEN.split())
_FAMILY = """Silva Costa Müller Rossi Tanaka Smith García Dubois Weber Santos Moreau Bianchi Sato Jones López Fischer
Pereira Romano Brown Almeida Novak Lindqvist Okafor Haddad"""
FAMILY = tuple(_FAMILY.split())
_TRADES = """journalist nurse student teacher baker engineer musician lawyer farmer designer driver biologist"""
TRADES = tuple(_TRADES.split())
APPS = ("Web", "Tusky", "Ivory", "Fedilab", "Moa")
SOURCES = ("Twitter Web Client", "Twitter for iPhone", "Twitter for Android", "TweetDeck")
