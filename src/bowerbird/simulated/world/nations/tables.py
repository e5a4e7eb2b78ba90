"""What people of each nation call themselves, their places and their time zones, written for this world.

Towns, nicknames of towns and jokes are such as people write into the field for a location; how often each kind occurs follows
Hecht and others ("Tweets from Justin Bieber's Heart", 2011): of a hundred, 66 name a place, 18 are empty, 16 name none.
"""

from __future__ import annotations

from msgspec import Struct


class Nation(Struct, frozen=True, kw_only=True):
    """One nation, as the community of a town of the world stands for it."""

    country: tuple[str, ...]
    """What the country is called, the most frequent first."""
    flag: str
    towns: tuple[str, ...]
    nicknames: tuple[str, ...] = ()
    zones: tuple[tuple[str, int], ...]
    """What is set in the list of time zones by those who set theirs, with hours from UTC."""
    given: tuple[str, ...]
    family: tuple[str, ...]
    languages: tuple[tuple[str, float], ...]
    """What profiles declare, with shares."""
    bios: tuple[str, ...]


def _list(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split("|"))


_PT_GIVEN = _list(
    "Ana|João|Tiago|Inês|Rita|Miguel|Catarina|Diogo|Mariana|Rui|Joana|Pedro|Beatriz|Nuno|Sofia|André|Carla|Hugo|Filipa|Gonçalo|"
    "Marta|Bruno|Teresa|Ricardo|Vasco|Leonor|Duarte|Patrícia|Sérgio|Cátia|Simão|Fábio"
)
_PT_FAMILY = _list(
    "Silva|Santos|Ferreira|Pereira|Oliveira|Costa|Rodrigues|Martins|Sousa|Fernandes|Gonçalves|Gomes|Lopes|Marques|Almeida|"
    "Ribeiro|Pinto|Carvalho|Teixeira|Moreira|Correia|Mendes|Nunes|Soares|Vieira|Monteiro|Cardoso|Rocha|Neves|Coelho|Cruz|Cunha"
)
_BR_GIVEN = _list(
    "Ana|João|Lucas|Gabriel|Larissa|Rafael|Juliana|Felipe|Camila|Gustavo|Thiago|Bruna|Letícia|Vitor|Amanda|Guilherme|Fernanda|"
    "Caio|Isabela|Matheus|Renata|Leandro|Priscila|Wesley|Jéssica|Everton|Tainá|Luan|Vanessa|Rodrigo|Aline|Kauã"
)
_BR_FAMILY = _list(
    "Silva|Souza|Oliveira|Lima|Santos|Pereira|Araújo|Barbosa|Ribeiro|Alves|Cardoso|Nascimento|Rocha|Moraes|Dias|Freitas|"
    "Barros|Teixeira|Cavalcanti|Batista|Campos|Farias|Vasconcelos|Macedo|Andrade|Moura|Queiroz|Rezende|Peixoto|Borges|Melo|"
    "Costa"
)
_EN_GIVEN = _list(
    "Jack|Emily|Olivia|Harry|Jessica|Thomas|Sophie|James|Chloe|Ryan|Megan|Josh|Lauren|Tyler|Ashley|Brandon|Hannah|Kyle|Sarah|"
    "Connor|Katie|Liam|Amber|Dylan|Rachel|Logan|Holly|Ethan|Grace|Mason|Zoe|Luke"
)
_EN_FAMILY = _list(
    "Smith|Jones|Taylor|Brown|Wilson|Johnson|Davies|Walker|Wright|Thompson|Hughes|Green|Hall|Clarke|Miller|Anderson|Moore|"
    "Jackson|Harris|Lewis|Young|King|Scott|Adams|Baker|Carter|Mitchell|Phillips|Evans|Turner|Parker|Cooper"
)
_ES_GIVEN = _list(
    "Carlos|Lucía|Javier|María|Alejandro|Paula|Sergio|Laura|Adrián|Carmen|Álvaro|Marta|Pablo|Sara|Iván|Andrea|Raúl|Elena|"
    "Jorge|Cristina|Diego|Nuria|Rubén|Alba|Óscar|Irene|Manuel|Rocío|Daniel|Ainhoa|Miguel|Ximena"
)
_ES_FAMILY = _list(
    "García|Martínez|López|Sánchez|González|Pérez|Gómez|Fernández|Ruiz|Díaz|Hernández|Álvarez|Jiménez|Moreno|Muñoz|Romero|"
    "Navarro|Torres|Domínguez|Vázquez|Ramos|Gil|Serrano|Molina|Castro|Ortiz|Rubio|Sanz|Iglesias|Medina|Cortés|Castillo"
)
_FR_GIVEN = _list(
    "Camille|Lucas|Manon|Théo|Léa|Hugo|Chloé|Maxime|Clara|Antoine|Julie|Nicolas|Pauline|Julien|Marion|Kevin|Élodie|Romain|"
    "Sarah|Quentin|Anaïs|Guillaume|Margaux|Florian"
)
_FR_FAMILY = _list(
    "Martin|Bernard|Dubois|Petit|Durand|Leroy|Moreau|Laurent|Lefebvre|Roux|Fournier|Girard|Bonnet|Dupont|Lambert|Fontaine|"
    "Rousseau|Vincent|Muller|Faure|Mercier|Blanc|Guérin|Boyer"
)
_DE_GIVEN = _list(
    "Lukas|Anna|Jonas|Lena|Felix|Laura|Tim|Julia|Max|Sarah|Jan|Lisa|Florian|Katharina|Tobias|Franziska|Philipp|Johanna|"
    "Sebastian|Nele|Niklas|Hannah|Moritz|Svenja"
)
_DE_FAMILY = _list(
    "Müller|Schmidt|Schneider|Fischer|Weber|Meyer|Wagner|Becker|Schulz|Hoffmann|Koch|Bauer|Richter|Klein|Wolf|Schröder|"
    "Neumann|Schwarz|Zimmermann|Braun|Krüger|Hofmann|Hartmann|Lange"
)
_IT_GIVEN = _list(
    "Marco|Giulia|Luca|Chiara|Francesco|Martina|Alessandro|Sara|Andrea|Federica|Matteo|Elisa|Davide|Silvia|Simone|Valentina|"
    "Lorenzo|Alessia|Giovanni|Ilaria|Stefano|Beatrice|Antonio|Roberta"
)
_IT_FAMILY = _list(
    "Rossi|Russo|Ferrari|Esposito|Bianchi|Romano|Colombo|Ricci|Marino|Greco|Bruno|Gallo|Conti|De Luca|Mancini|Costa|Giordano|"
    "Rizzo|Lombardi|Moretti|Barbieri|Fontana|Santoro|Mariani"
)
_JA_GIVEN = _list("太郎|さくら|健太|美咲|翔|陽菜|大輔|結衣|拓海|葵|Yuki|Haruto|Aoi|Ren|まい|ゆうき|りん|けん")
_JA_FAMILY = _list("佐藤|鈴木|高橋|田中|伊藤|渡辺|山本|中村|Sato|Tanaka|小林|加藤|吉田|山田|佐々木|松本|井上|木村")

PORTUGAL = Nation(
    country=_list("Portugal|Portugal|Portugal|PT|portugal|PORTUGAL"),
    flag="🇵🇹",
    towns=_list(
        "Lisboa|Lisboa|Lisbon|Porto|Porto|Oporto|Braga|Coimbra|Aveiro|Faro|Setúbal|Almada|Leiria|Viseu|Évora|Funchal|"
        "Ponta Delgada|Guimarães|Vila Nova de Gaia|Amadora|Cascais|Sintra|Barreiro|Póvoa de Varzim|Santarém|Beja|"
        "Viana do Castelo|"
        "Vila Real|Loures|Odivelas|Matosinhos|Maia|Torres Vedras|Caldas da Rainha|Figueira da Foz|Portimão|Seixal|"
        "Castelo Branco|"
        "Covilhã|Ovar|Espinho|Gondomar|Famalicão|Barcelos|Montijo|Palmela|Tomar|Abrantes|Chaves|Bragança|Madeira|Açores|"
        "Algarve|"
        "Alentejo|Ribatejo|Minho"
    ),
    nicknames=_list(
        "margem sul|tugaland|Tugalândia|cidade invicta|Invicta|Lx|lx city|linha de sintra|algures em portugal|Algures por aí|"
        "no sofá, em lisboa|terras de viriato|um país à beira mar plantado|norte carago|Olissipo|lisboa menina e moça"
    ),
    zones=(("Lisbon", 0), ("Lisbon", 0), ("Lisbon", 0), ("Lisbon", 0), ("London", 0), ("Azores", -1), ("Casablanca", 0),
           ("Edinburgh", 0), ("Dublin", 0), ("Madrid", 1)),
    given=_PT_GIVEN,
    family=_PT_FAMILY,
    languages=(("pt", 0.62), ("en", 0.34), ("es", 0.02), ("fr", 0.02)),
    bios=_list(
        "Estudante de direito.|Benfiquista desde pequenino|Sportinguista, sofredor|portista com orgulho|"
        "Jornalista. Opiniões só minhas|"
        "Engenheira informática, mãe de dois|música, livros e café|20 anos | caloiro|Adepto de futebol e de sestas|"
        "Just a girl with big dreams|"
        "Designer & photographer|Vive um dia de cada vez|gamer | youtuber|Professor, pai, maratonista|Love music, hate mondays|"
        "rapariga do norte|Fotografia e viagens|Só cá vim ver a bola|tuga|comunicação social|Investigadora em biologia|"
        "instagram: igual"
    ),
)  # fmt: skip
BRAZIL = Nation(
    country=_list("Brasil|Brasil|Brazil|BR|brasil|BRASIL"),
    flag="🇧🇷",
    towns=_list(
        "São Paulo|São Paulo|SP|Rio de Janeiro|Rio de Janeiro|RJ|Belo Horizonte|BH|Curitiba|Porto Alegre|Salvador|Fortaleza|"
        "Recife|"
        "Brasília|Goiânia|Manaus|Belém|Florianópolis|Campinas|Santos|Vitória|Natal|Maceió|São Luís|Santarém|Cuiabá|Londrina|"
        "Niterói|"
        "Joinville|Ribeirão Preto|Uberlândia|Sorocaba|Aracaju|Teresina|João Pessoa|Osasco|Guarulhos|Bragança|Porto Velho|Óbidos"
    ),
    nicknames=_list(
        "sampa|terra da garoa|hellcife|interior de sp|cidade maravilhosa|zona leste|baixada santista|no mundo da lua|poa|"
        "capital do forró|Rio 40 graus|errejota|minas gerais uai|Nárnia"
    ),
    zones=(("Brasilia", -3), ("Brasilia", -3), ("Brasilia", -3), ("Brasilia", -3), ("Santiago", -3), ("Greenland", -2),
           ("Mid-Atlantic", -2), ("Buenos Aires", -3)),
    given=_BR_GIVEN,
    family=_BR_FAMILY,
    languages=(("pt", 0.86), ("en", 0.12), ("es", 0.02)),
    bios=_list(
        "Flamenguista até morrer|corinthiano maloqueiro|estudante de medicina|17 anos, capricorniana|só mais um cara legal|"
        "brasileiro não desiste nunca|Publicitária, mãe de pet|fã clube oficial|amo séries e pizza|carioca da gema|"
        "engenheiro civil|"
        "sonhadora|jornalista em formação|gremista|paulistano|Deus no comando|cantora nas horas vagas|gamer|Love music|"
        "Música e futebol"
    ),
)  # fmt: skip
BRITAIN = Nation(
    country=_list("UK|England|United Kingdom|Scotland|Wales|uk"),
    flag="🇬🇧",
    towns=_list(
        "London|London|Manchester|Liverpool|Leeds|Bristol|Birmingham|Newcastle|Sheffield|Brighton|Nottingham|Cardiff|Glasgow|"
        "Edinburgh|Essex|Kent|Norwich|Oxford"
    ),
    nicknames=_list("ldn|North London|up north|the shire|Land of rain|bed, mostly"),
    zones=(("London", 0), ("London", 0), ("London", 0), ("Edinburgh", 0), ("Casablanca", 0), ("Amsterdam", 1), ("Lisbon", 0)),
    given=_EN_GIVEN,
    family=_EN_FAMILY,
    languages=(("en", 0.985), ("fr", 0.015)),
    bios=_list(
        "Dad of three. Views my own.|Student at uni|Lover of tea|Football, beer, repeat|Journalist|living my best life|"
        "Photographer|"
        "Dog mum|she/her|Music teacher|Arsenal till I die"
    ),
)
AMERICA = Nation(
    country=_list("USA|United States|US|usa|America"),
    flag="🇺🇸",
    towns=_list(
        "New York, NY|NYC|Los Angeles, CA|Chicago|Houston, TX|Boston, MA|Atlanta, GA|Seattle|Austin, TX|Portland, OR|Miami, FL|"
        "Denver, CO|Philadelphia|Brooklyn|San Francisco, CA|Detroit|Ohio|Florida|Texas|Newark, NJ|Lisbon, OH"
    ),
    nicknames=_list("atl|the bay|Bmore|Bieber's heart|Bikini Bottom|H-Town"),
    zones=(("Eastern Time (US & Canada)", -5), ("Central Time (US & Canada)", -6), ("Pacific Time (US & Canada)", -8),
           ("Quito", -5), ("Mountain Time (US & Canada)", -7), ("Atlantic Time (Canada)", -4)),
    given=_EN_GIVEN,
    family=_EN_FAMILY,
    languages=(("en", 0.97), ("es", 0.03)),
    bios=_list(
        "Sports. God. Family.|College student|Writer and coffee drinker|Mom of 4|Go Lakers|dreamer|Software engineer|Artist|"
        "Cali girl|Opinions are mine|Philly sports fan"
    ),
)  # fmt: skip
SPAIN = Nation(
    country=_list("España|Spain|españa|ES"),
    flag="🇪🇸",
    towns=_list(
        "Madrid|Barcelona|Valencia|Sevilla|Bilbao|Málaga|Zaragoza|Vigo|A Coruña|Granada|Murcia|Alicante|Santiago de Compostela|"
        "Ourense|Badajoz|Salamanca"
    ),
    nicknames=_list("mi casa|Galiza|en las nubes|la capi|Andalucía|Euskal Herria"),
    zones=(("Madrid", 1), ("Madrid", 1), ("Madrid", 1), ("Paris", 1), ("Greenland", -2), ("Amsterdam", 1), ("Lisbon", 0)),
    given=_ES_GIVEN,
    family=_ES_FAMILY,
    languages=(("es", 0.86), ("en", 0.12), ("ca", 0.02)),
    bios=_list(
        "Estudiante de periodismo|Del Betis|Madridista|Amante del café|Profesor|viviendo|Diseñadora gráfica|Viajar y comer|Música"
    ),
)
MEXICO = Nation(
    country=_list("México|Mexico|MX|mexico"),
    flag="🇲🇽",
    towns=_list("Ciudad de México|CDMX|D.F.|Guadalajara|Monterrey|Puebla|Tijuana|Mérida|Cancún|Querétaro|León|Toluca"),
    nicknames=_list("mi mundo|chilangolandia|por ahí|Regiolandia"),
    zones=(("Mexico City", -6), ("Mexico City", -6), ("Guadalajara", -6), ("Central Time (US & Canada)", -6), ("Monterrey", -6)),
    given=_ES_GIVEN,
    family=_ES_FAMILY,
    languages=(("es", 0.93), ("en", 0.07)),
    bios=_list("Ingeniero|Chiva de corazón|Estudiante|mamá de Sofía|Periodista|la vida es bella|amo los tacos"),
)
FRANCE = Nation(
    country=_list("France|FR|france"),
    flag="🇫🇷",
    towns=_list("Paris|Paris|Lyon|Marseille|Toulouse|Bordeaux|Lille|Nantes|Nice|Rennes|Strasbourg|Montpellier|Grenoble|Reims"),
    nicknames=_list("92i|dans ma bulle|Paname|Bretagne|sud de la France"),
    zones=(("Paris", 1), ("Paris", 1), ("Paris", 1), ("Brussels", 1), ("Amsterdam", 1), ("Greenland", -2)),
    given=_FR_GIVEN,
    family=_FR_FAMILY,
    languages=(("fr", 0.9), ("en", 0.1)),
    bios=_list("Étudiante en droit|Journaliste|PSG|amoureux de la vie|Maman|Prof d'histoire|Graphiste|musique et cinéma"),
)
GERMANY = Nation(
    country=_list("Deutschland|Germany|DE|germany"),
    flag="🇩🇪",
    towns=_list("Berlin|Berlin|Hamburg|München|Köln|Frankfurt|Stuttgart|Düsseldorf|Leipzig|Dresden|Hannover|Bremen|Bonn"),
    nicknames=_list("Ruhrpott|daheim|im Norden|hier und da|Kiez"),
    zones=(("Berlin", 1), ("Berlin", 1), ("Amsterdam", 1), ("Bern", 1), ("Paris", 1)),
    given=_DE_GIVEN,
    family=_DE_FAMILY,
    languages=(("de", 0.8), ("en", 0.2)),
    bios=_list("Student|Journalistin|Papa, Läufer, Nerd|BVB|Kaffee und Katzen|Softwareentwickler|Lehrerin|irgendwas mit Medien"),
)
ITALY = Nation(
    country=_list("Italia|Italy|IT|italia"),
    flag="🇮🇹",
    towns=_list("Roma|Milano|Napoli|Torino|Bologna|Firenze|Palermo|Genova|Bari|Catania|Verona|Padova|Venezia|Pisa"),
    nicknames=_list("nel mio mondo|Terronia|padania|ovunque|Stivale"),
    zones=(("Rome", 1), ("Rome", 1), ("Rome", 1), ("Amsterdam", 1), ("Paris", 1), ("Greenland", -2)),
    given=_IT_GIVEN,
    family=_IT_FAMILY,
    languages=(("it", 0.88), ("en", 0.12)),
    bios=_list("Studentessa|juventino|Giornalista|amo la vita|Ingegnere|mamma di due|musica e libri|romanista"),
)
JAPAN = Nation(
    country=_list("日本|Japan|JP|日本国"),
    flag="🇯🇵",
    towns=_list("東京|大阪|名古屋|横浜|札幌|福岡|京都|神戸|Tokyo|Osaka|埼玉|千葉|仙台|広島"),
    nicknames=_list("家|どこか|夢の中|おうち|関西"),
    zones=(("Tokyo", 9), ("Tokyo", 9), ("Osaka", 9), ("Hawaii", -10), ("Irkutsk", 8)),
    given=_JA_GIVEN,
    family=_JA_FAMILY,
    languages=(("ja", 0.95), ("en", 0.05)),
    bios=_list("大学生|ゲーム好き|猫が好き|会社員|音楽と写真|よろしくお願いします"),
)
AUSTRALIA = Nation(
    country=_list("Australia|AU|Aus|australia"),
    flag="🇦🇺",
    towns=_list("Sydney|Melbourne|Brisbane|Perth|Adelaide|Gold Coast|Canberra|Hobart|Newcastle, NSW"),
    nicknames=_list("down under|straya|the beach"),
    zones=(("Sydney", 10), ("Melbourne", 10), ("Brisbane", 10), ("Perth", 8)),
    given=_EN_GIVEN,
    family=_EN_FAMILY,
    languages=(("en", 1.0),),
    bios=_list("Surf, sun, repeat|Journo|Footy tragic|Student nurse|coffee snob"),
)
NATIONS = (
    BRITAIN, AMERICA, BRAZIL, PORTUGAL, SPAIN, MEXICO, FRANCE, GERMANY, ITALY, JAPAN, AMERICA, AUSTRALIA,
)  # fmt: skip
"""In the order of the world's towns."""
SHARES = (0.11, 0.12, 0.2, 0.2, 0.1, 0.05, 0.06, 0.05, 0.05, 0.02, 0.02, 0.02)
"""Of all accounts: a neighbourhood of Portugal rather than the world."""
EMIGRATION = (0.05, 0.02, 0.07, 0.08, 0.04, 0.04, 0.04, 0.03, 0.05, 0.02, 0.02, 0.04)
ABROAD = (
    (3, 4, 6, 11), (0, 5, 7), (3, 3, 3, 1, 0, 4), (0, 0, 6, 6, 2, 7, 4), (0, 6, 7, 3), (1, 4), (0, 3, 7), (0, 4, 3),
    (0, 7, 6, 3), (1, 0), (5, 0), (0, 1),
)  # fmt: skip
"""Where those go who leave, the more often the more."""
JOKES = _list(
    "in your heart|somewhere over the rainbow|Hogwarts|everywhere|nowhere|earth|Planet Earth|worldwide|the moon|wonderland|"
    "Neverland|"
    "behind you|under your bed|no teu coração|na tua cabeça|aqui|aí|por aí|here and there|your mom's house|internet|127.0.0.1|"
    "where the wild things are|Gotham|Mordor|with the beliebers|na cama|no sofá|lost|somewhere|outer space|"
    "in a galaxy far far away|"
    "♡|~|???|...|universo|mundo da lua|on stage|en tu mente|dans tes rêves|Narnia|hell|heaven|the upside down|twitter|ask me|"
    "secret"
)
ANY_ZONES = (
    ("Quito", -5), ("Pacific Time (US & Canada)", -8), ("Hawaii", -10), ("Greenland", -2), ("Atlantic Time (Canada)", -4),
    ("London", 0), ("Alaska", -9), ("Amsterdam", 1), ("Eastern Time (US & Canada)", -5), ("Athens", 2), ("Santiago", -4),
)  # fmt: skip
"""What was set by a device, or picked by somebody who did not care."""
ALIASES = _list(
    "the dark knight|☆ star ☆|xXShadowXx|Mrs. Styles|kpop trash|anonymous|Dr. Pepper|noob|sunshine ☀|just me|MC Fly|DJ Koala|"
    "lil cat|Captain Obvious|Mr. Nobody|little monster|B.|..."
)
OTHER_FLAGS = ("🇰🇷", "🇺🇸", "🇬🇧", "🇯🇵", "🇧🇷", "🇪🇸", "🇮🇹")
"""Of countries that people like."""
