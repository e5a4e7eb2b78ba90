"""Posts in the two varieties of Portuguese, made up for tests."""

EUROPEAN = (
    "Estou a ver o jogo com o meu irmão e já não percebo nada disto",
    "Esqueci-me do telemóvel no autocarro, alguém me liga?",
    "Tens de vir cá a casa, a minha mãe fez imenso bacalhau",
    "De facto a equipa esteve bem, o golo foi espectacular",
    "Porque é que toda a gente está a falar disso agora?",
    "Bué fixe o concerto de ontem, amanhã conto-te tudo",
)
BRAZILIAN = (
    "Tô assistindo o jogo com meu irmão e não entendo mais nada kkkk",
    "Esqueci meu celular no ônibus, me liga por favor",
    "Você tem que vir pra cá, minha mãe fez feijoada demais",
    "O time jogou bem, o gol foi lindo, né galera",
    "Por que todo mundo está falando disso agora?",
    "Muito legal esse show de ontem, depois eu te conto tudo rsrs",
)
EITHER = (
    "Bom dia a todos",
    "O livro novo é muito bom",
    "Vamos ao cinema hoje",
    "Adoro esta música",
)
ENGLISH = (
    "I really think this is the best song of the year so far",
    "Waiting for the bus again, it never comes when it should",
    "What a beautiful morning to stay in bed and read a book",
    "My brother forgot his phone at the restaurant yesterday",
    "Nobody told me that the meeting was moved to Thursday",
    "The weather has been terrible since we came back home",
)
SPANISH = (
    "No entiendo por qué la gente sigue hablando de ese partido",
    "Mañana tengo que levantarme muy temprano para trabajar",
    "Qué bonita está la ciudad cuando llueve por la tarde",
    "Mi hermano perdió el teléfono en el autobús otra vez",
)
