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

_MORE_EN = """also back been before best better big both bring call came car child could day does done door down each early
easy eat end even every eye face fact family far feel few film find food full gave girl go got had hair hand happy
has head help here high him hope hot hour idea if its job just keep kind last late learn left let life like little
live lot lunch made man many maybe me minute money month more most mother much my name next nice number off old one
only open other our out over own page part party past people phone place plan point pretty put quite read ready
red right room run same say sea seen set she side sit sleep small someone something soon start state still stop
such summer sure table tea tell than thank their them then thing three tired too town try turn two under until up
use very visit walk wall warm was water way well were white who why wife window winter wish woman word world yes yet
young your"""
_MORE_PT = """agora ainda algo alguém algum alta antes aqui aquele assim até baixo banho bem boca branco cabeça cada cama carro
casa cedo certo céu chave cidade cima claro coisa começa como contra corpo cozinha criança dado data dela depois
desde dia dias dinheiro direito dois dona dormir duas ele ela enquanto entre era escrita espera esta estar este
família favor feliz fica filha filho filme fim foi folha fome forma frente frio gato geral gosto grupo haver homem
hora ideia igual inverno irmão janela jantar jornal lado leite lembro lindo livre logo longe lugar mãe mal maior mão
mar mas mês mesa mesmo meu mil minha minuto moço morar mulher mundo nada nasce nem nome nossa nosso nova número olho
onde outra outro pai país palavra papel parte passa pé pedra pessoa pode ponto por porta pouco praia preço primeiro
próximo quando quarto quase quem quente resto roupa saber sair sala seguinte sempre senhor ser seu sim sobre sono
sorte sua tarde teatro telefone tempo ter terra teu tudo última um vai ver verão verde vez vida vinho voz zona"""
_MORE_ES = """ahora alguien algo algún alto antes aquel aquí árbol así aunque avión baño bastante bien blanco boca bonito brazo
cabeza cada calor cama camino campo cara carta casi cena cerca cielo cinco claro coche cocina comer como compra
contra cosa creer cuando cuatro cuerpo dado deber decir dejar dentro derecho desde después día días dinero
dormir dos ella ellos entre era esa ese esperar esta estar este familia favor feliz fin flor forma frente frío fue
gato gran gusto había hablar hasta hermano hija hijo hombre hora idea igual invierno ir jamás lado largo leche lejos
lugar luego luna madre mal mañana mano mar mayor medio mejor menos mes mesa mientras minuto mismo mitad modo mujer
mundo nada nadie ni niño nombre nuestro número ojo otra otro padre país palabra papel parte pasar pelo pensar perro
persona pie playa poco poder poner por precio primero pronto pueblo puerta punto quien rato razón rojo ropa
saber salir seguir ser si siete sobre solo sueño suerte tal tarde teatro tener tierra todo tres última un vale ver
verano verde vez viaje vida viento vino vivir voz ya"""
_MORE_FR = """accord air aller alors an après argent arrive assez autre avant bas beau bien blanc bleu bois bouche bras bruit car
carte cas ce celle cent ces chaise chambre champ chaque chat chaud chemin cher chez chien chose ciel cinq clair
coin comme comment corps côté coup cours cuisine dans date début dehors déjà dernier derrière deux devant dire
dîner doit donc dormir droit eau elle encore enfant ensuite entre envie est et été être eux face faim famille femme
fenêtre fête feu fille film fils fin fleur fois fond forme frère froid gare garçon gauche genre gros guerre
heure heureux hiver homme ici idée ils jardin jeudi jeune jouet jour journal kilo lait leur libre lieu lit loin long
lui lundi lune main mais maman mari matin même mer mère midi mieux mille minute moi moins mois monde montagne mot
mur neige nom non nos notre nous nuage numéro oeil ou où oui page pain papa par part pas pays pendant père peu peur
pied pierre place plage porte pourquoi premier près presque prix puis quand quatre quel qui rien robe rouge route
salle sang sans six soeur soir sommeil son sous sud sur table tard tasse tellement tête tour tous tout très trois
trop vent vers vert vie vieille vin vite vivre voix vrai"""
_MORE_DE = """aber alle allein als also am andere Angst Arm Auge Auto Bad bald Baum bei beide Bein bekommen Berg Bett Bild bin bis
bitte blau bleiben Brief Brot Bruder da damals danke dein denken der die dies doch dort drei du dunkel durch
dürfen eben Ecke Ei eigentlich einfach einmal Eis Eltern Ende endlich er erst es essen etwas euch fahren fallen
Familie fangen Farbe fast Fenster Ferien fertig Feuer Film fragen Frau frei fremd früh Fuß ganz Garten gar
Gast gehen Geld genau gern Geschenk Gesicht gestern gesund Glas glauben gleich Glück grün Gruß Haar halb Hand hart
hat Haut heiß helfen Hemd Herz hier Himmel hinter hoch Hof holen Hund Hunger ich Idee ihm ihn immer in ja
Jacke jede jemand jetzt jung Junge kalt kaum kein kennen Kind Kino Kleid kochen kommen können Kopf Körper
kosten krank Kuchen Küche kurz lachen Land lang langsam laufen laut leben leer legen leicht leider Leute letzte
links Luft Mädchen mal Mann Meer mein Mensch Milch Minute mir Mittag Monat Mond müde Mund Mutter nach Name Nase
natürlich neben nein nett nicht nichts noch nur ob oben oder oft ohne Ort paar Papier Pause Platz Preis Rad recht
reden Reise richtig rot rufen ruhig Sache sagen Satz schlafen schnell schon schön Schuh Schwester See sein seit
Seite selten sicher sie Sommer spät Spaß Stunde suchen Tag Teil Tisch Tür und unter Urlaub Vater viel vier
Vogel voll von vor Wagen Wand wann warm warten warum Wasser Weg Wein weit Welt wer wie Wind Winter wir wo Wort
zahlen Zeit Zimmer zwei"""
_MORE_IT = """acqua adesso albero alcuni alla allegro altro alto ancora andare anni aperto aprile aria arriva autobus avanti avere
bagno bambino basso bastare bello bene bianco bicchiere blu bocca braccio breve caldo camera camminare campagna cane
capelli capire caro carta cena cento cercare certo chi chiave chiesa cielo cinque classe colore come compagno
comprare conoscere contro corpo corsa cosa così cucina cuore dentro destra dire dito dodici dolce domanda donna
dopo dormire dove due dunque ecco entrare era erba esempio essere estate fame famiglia felice festa fiducia figlia
figlio film fine finestra fiore foglio fondo forse forte fratello freddo fuoco gatto gente già giardino giorno giro
giusto gli grazie gruppo guerra idea ieri inverno io isola lago largo latte lato lavare lei lento letto libero
lingua lontano loro luglio lui luna lungo madre male mamma mangiare mano mare matita mattina medico meglio meno mese
metà mettere mezzo mille minuto mio moglie molto momento mondo montagna morire muro nave neve niente nome nonno
nord nostro nove numero nuotare nuvola occhio ogni ora ordine otto padre paese pagina pane parlare parola parte
passare paura penna pensare persona piano piazza piede poco poi ponte porta potere pranzo prezzo prima pronto
punto quale quando quanto quattro quello questo qui ragazzo ridere riso rosso scarpa scuro sedia seguire sei
sempre senza sera sete sette sicuro simile sinistra solo sonno sopra sorella sotto spesso spiaggia stare stella
strano studio suo tardi tavolo tempo tenere terra testa tetto tornare tra tre triste tutto ultimo uomo usare vacanza
vecchia venire vento verde vero vestito via viaggio vicino vino vita vivere voce volere volta"""
_MORE_JA = """私 あなた 彼 彼女 これ それ ここ そこ 何 誰 いつ どこ でも だから しかし もう まだ すぐ 少し 全部 一番 人 子供 男
女 母 父 兄 妹 犬 猫 花 木 山 海 空 風 雪 水 火 手 足 目 耳 口 頭 体 心 声 言葉 名前 国 町 村 車 自転車 飛行機 部屋
窓 ドア 机 椅子 電話 手紙 新聞 映画 料理 ご飯 パン 肉 魚 野菜 果物 お茶 水曜 月曜 金曜 日曜 春 夏 秋 冬 午前 午後
時間 分 昨日 毎日 最近 一緒 自分 全然 やっと たぶん ちょっと かなり 嬉しい 悲しい 寒い 暑い 暖かい 涼しい 早い 遅い
高い 安い 長い 短い 強い 弱い 白い 黒い 赤い 青い 若い 古い 眠い 忙しい 静か 元気 大丈夫 無理 簡単 便利 思う 言う
話す 書く 買う 売る 使う 待つ 持つ 立つ 座る 歩く 走る 寝る 起きる 出る 入る 開ける 閉める 始める 終わる 教える 習う
覚える 忘れる 考える 分かる 知る 住む 働く 休む 遊ぶ 笑う 泣く から まで より だけ など けど のに ので"""

VOCABULARY: dict[str, tuple[str, ...]] = {
    language: tuple((text.split() * 2)[:WORDS_PER_LANGUAGE])
    for language, text in {"en": _EN, "pt": _PT, "es": _ES, "fr": _FR, "de": _DE, "it": _IT, "ja": _JA}.items()
}


def _by_frequency(core: tuple[str, ...], more: list[str]) -> tuple[str, ...]:
    """Return the words of a language, the commonest first: grammatical ones, then those of the core among the others."""
    others = [word for word in dict.fromkeys(more) if word not in core]
    step = len(others) // len(core[_GRAMMATICAL:])
    spread = (each for nth, word in enumerate(core[_GRAMMATICAL:]) for each in (word, *others[nth * step : (nth + 1) * step]))
    return tuple(dict.fromkeys((*core[:_GRAMMATICAL], *spread, *others)))


_GRAMMATICAL = 10
"""So many words at the beginning of each list are commoner than all others."""
COMMON: dict[str, tuple[str, ...]] = {
    language: _by_frequency(VOCABULARY[language], text.split())
    for language, text in {
        "en": _MORE_EN,
        "pt": _MORE_PT,
        "es": _MORE_ES,
        "fr": _MORE_FR,
        "de": _MORE_DE,
        "it": _MORE_IT,
        "ja": _MORE_JA,
    }.items()
}
"""Every word of a language, the commonest first."""


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
