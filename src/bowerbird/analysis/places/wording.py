"""Words that are also the names of places, and hardly ever meant as such. Data."""

_WORDS = """
a about above abroad absent aca ahead aki ali all almost alone along alpha always amen amigo and angel any anywhere aqui ar
army around art asgard ask asleep at atlantis aurora away axis baby back bad band bar base bath battle beach bed behind best
beyond big blue body boat book bot both boy bronze business but by caring casa castle cave center central centro chair chaos
cielo city class clay closet cloud club coast college com comedy concord corner couch country cross crystal dark date day
deal death delta desert desk despair destiny diamond dio district doing dome don door down downtown dream dreams drum dusk
dust targets east eden edge elsewhere emerald empire end energy enterprise equality eternity europe ever everyone everything
everywhere evil evolution existence faith family fandom fantasy far farm field fire first five flat flower fly food football
for forest forever forward free freedom fun future galaxy game garden gate ghost girl global globe go god gold golden good
gotham grace grand gray green ground group guess happy harmony hay hate he heart heat heaven hell help her here hidden hide
high hill his history hit hogwarts hold hole holy home honor hope hospital house hub human i ice if imagination in
independence infinity info inside internet into is island isle it jungle just justice key kind king kingdom la lab lake land
last law left let liberty life light limbo line lion little live local lost love low luck luna lugar madness magic male man
many map mar march mars matrix maybe me media melody merry middle midnight milky mind mine mobile modern moon more most
mother mountain mountains mundo music my mystic name nap narnia nation national nature near never neverland new news nice
night nirvana no nobody normal north northeast northwest not nova now nowhere null oasis ocean of off office old olympus on
one online only open or orange order other our out outer outside over page panem paper paradise park party past pause peace
people place planet planeta planete play plenty plus point pole pool power prairie pride prime prison private public pure
quality queen quiet radio rain rainbow random reading real reality red refuge remote rest right river road rock room rose
royal same sand sandwich school science sea secret self shadow she shire show side silence silver sin sky sleep snow social
solitude some somewhere son song sorrow soul sound south southeast southwest space spirit split sport spring square star
stars state states station still stone stop street studio student success summer sun sunny sunshine sur surprise surreal
sweet system tal tatooine team terra the there they third this tierra time tir to today tomorrow top tower town train trees
trance tribe true trust truth twilight under union united unity universal universe university unknown up upper utopia
valhalla vale valley various venus via victory view village virtual vision void wakanda walls war warm wasteland water way we
web welcome west westeros wherever white why wild wilderness winter wisdom with within woke wonderland woods work world
worldwide yes you young your zen zero zion zone africa asia antarctica oceania latinoamerica latam eu mi tu su el los las un
una que mas con por para todo nada der die das und ein kpop bts exo centre eastern western northern southern gulf capital
federal interior littoral highlands plateau stan twitter facebook instagram tumblr youtube tiktok wifi
"""
_PHRASES = """
,      , , , .split() ) | {
"""
IS_WORD = frozenset(_WORDS.split()) | frozenset(" ".join(each.split()) for each in _PHRASES.split(","))
