"""The word lists of the contradiction check: negations, antonyms, units of measure, weekdays.

The lists were written for this library and have its licence (Apache-2.0). They hold frequent words only. What a list
does not hold is not seen: the check then says nothing about that word.
"""

from __future__ import annotations

from functools import lru_cache

from ctxmetrics.judges.lexical.words import CURRENCY_KEYS, MONTH_KEYS, base_language, words

# --- negations ------------------------------------------------------------------------------------------------

_NEGATIONS = {
    "en": """
        not no never none nobody nothing nowhere neither nor without cannot cant dont doesnt didnt isnt arent wasnt
        werent wont wouldnt couldnt shouldnt hasnt havent hadnt mustnt neednt aint nt
        """,
    "ru": "не нет ни никогда никто ничто нигде никакой никакие никаких без нельзя",
    "uk": "не немає ні ніколи ніхто ніщо ніде без",
    "de": "nicht nichts nie niemals kein keine keinen keinem keiner keines niemand nirgends ohne weder",
    "fr": "ne n pas jamais aucun aucune rien personne sans ni",
    "es": "no nunca jamas ningun ninguna ninguno nada nadie sin ni tampoco",
    "it": "non mai nessun nessuna nessuno niente nulla senza ne",
    "pt": "nao nunca jamais nenhum nenhuma ninguem nada sem nem",
    "tr": "degil degildir yok yoktur hic asla",
    "ar": "لا لم لن ليس ليست لست غير ما",
    "hi": "नहीं न ना नही मत बिना",
}
_DENIALS = {
    "en": """
        lack fail refuse deny reject prevent avoid unlike instead rather hardly rarely seldom scarcely barely few little
        unable impossible unlikely except exclude excluding stop cease cancel absent absence false wrong
        """,
    "ru": "отсутствует отсутствуют отсутствие отказался отказалась перестал перестали прекратил прекратили вместо кроме",
}
"""Words by which a sentence may deny something without a negation: they clear a suspicion, and raise none."""
_NO_NEGATIONS_AFTER = {
    "en": "only just merely least simply until later less doubt matter longer-than",
    "ru": "только лишь менее позднее ранее",
    "de": "nur",
    "fr": "seulement que",
    "es": "solo solamente obstante",
}
"""After one of these words a negation denies nothing: not only, no less than, no later than, not until."""

_NEGATION_FOLLOWS = frozenset(("de", "fr", "tr"))
_SKIPPED_AFTER_NEGATION = {"en": "longer more any even yet really actually fully"}
"""After a negation these words are not what it denies: no longer sold."""

# --- antonyms: each line has two sides ------------------------------------------------------------------------

_ANTONYMS = {
    "en": """
        increase increased rise rose risen grow grew grown climb gain surge soar expand | decrease decreased fall fell fallen decline drop shrink shrank plunge plummet reduce reduced contract
        more | less fewer
        most | least fewest
        high higher highest | low lower lowest
        big large larger largest great huge giant enormous major | small smaller smallest tiny little minor
        long longer longest | short shorter shortest brief
        tall taller tallest | short shorter shortest
        old older oldest ancient elderly | new newer newest young younger youngest modern
        early earlier earliest | late later latest
        first | last
        before | after
        above | below
        over | under
        begin began begun start started open opened opening launch founded establish | end ended finish close closed closing stop cease conclude
        opened open | closed close shut
        win won victory victorious | lose lost defeat loss
        succeed success successful successfully | fail failure failed unsuccessful
        buy bought purchase purchased acquire | sell sold sale
        import imported | export exported
        accept accepted approve approved | reject rejected refuse refused deny denied decline
        allow allowed permit permitted legal legalize | forbid forbidden forbade ban banned prohibit prohibited prevent illegal
        support supported favor favour endorse | oppose opposed reject resist
        agree agreed | disagree disagreed
        include included | exclude excluded omit omitted
        add added | remove removed subtract subtracted delete
        build built construct constructed create created | destroy destroyed demolish demolished
        love loved like liked | hate hated dislike disliked
        good better best | bad worse worst poor evil
        positive positively | negative negatively
        true | false
        right correct correctly | wrong incorrect incorrectly
        left | right
        strong stronger strongest | weak weaker weakest
        strengthen | weaken
        hard harder hardest difficult | easy easier easiest simple soft
        fast faster fastest quick quickly rapid rapidly | slow slower slowest slowly
        hot hotter hottest warm warmer | cold colder coldest cool cooler
        heat | cool
        wet | dry
        rich richer wealthy | poor poorer
        cheap cheaper inexpensive affordable | expensive costly
        free | paid
        full | empty
        heavy heavier | light lighter
        dark darker | light bright brighter
        black | white
        deep deeper | shallow
        wide wider broad | narrow narrower
        thick thicker | thin thinner
        near nearby close | far distant
        north northern | south southern
        northeast northeastern | southwest southwestern
        northwest northwestern | southeast southeastern
        east eastern | west western
        inside internal interior inner indoor | outside external exterior outer outdoor
        up upward upper | down downward lower
        top | bottom
        front | back rear
        public | private
        common commonly frequent frequently often usual usually | rare rarely uncommon infrequent infrequently seldom unusual
        always | never sometimes rarely
        many | few
        all every | none
        same identical similar | different opposite distinct
        equal | unequal
        alive living live | dead deceased
        born birth | died die death
        male man men boy father son brother husband king | female woman women girl mother daughter sister wife queen
        married marry | divorced divorce
        friend ally | enemy foe
        peace | war
        arrive arrived arrival enter entered | leave left depart departed departure exit
        come came | go went
        send sent | receive received
        give gave given | take took taken
        lend lent | borrow borrowed
        teach taught | learn learned
        push pushed | pull pulled
        raise raised | lower lowered
        lift | drop
        attack attacked | defend defended
        advance advanced | retreat retreated
        appear appeared | disappear disappeared vanish vanished
        visible | invisible hidden
        possible | impossible
        able | unable
        likely | unlikely
        known famous | unknown obscure
        popular | unpopular
        safe safer | dangerous unsafe
        healthy | unhealthy sick ill
        happy | unhappy sad
        happiness | sadness
        kind | cruel unkind
        lucky | unlucky
        fair | unfair
        important | unimportant trivial insignificant
        significant | insignificant
        necessary | unnecessary
        complete completed | incomplete partial
        official officially | unofficial unofficially
        direct directly | indirect indirectly
        active actively | passive passively inactive
        regular regularly | irregular irregularly
        formal | informal
        natural | artificial synthetic
        domestic | foreign wild international
        local | global foreign national
        urban city | rural countryside
        permanent permanently | temporary temporarily
        voluntary | compulsory mandatory
        optional | mandatory compulsory required
        dependent | independent
        dependence | independence
        maximum maximal | minimum minimal
        majority | minority
        plural | singular
        odd | even
        vertical | horizontal
        clockwise | anticlockwise counterclockwise
        day | night
        morning | evening
        summer | winter
        spring | autumn
        sunrise dawn | sunset dusk
        land | sea
        income revenue profit | expense loss
        profitable | unprofitable
        credit | debit
        asset | liability
        supply | demand
        hire hired employ employed | fire fired dismiss dismissed
        employment | unemployment
        appointed appoint elected | resigned resign dismissed
        join joined | leave left quit
        unite united merge merged | divide divided separate separated split
        connect connected | disconnect disconnected
        attach | detach
        lock locked | unlock unlocked
        encourage | discourage
        improve improved improvement | worsen worsened deteriorate
        help helped | hinder hindered harm
        protect protected | endanger expose harm
        save saved | waste wasted spend spent
        remember remembered | forget forgot forgotten
        reveal revealed | conceal concealed hide
        ascend ascended | descend descended
        ascent | descent
        innocent | guilty
        acquit acquitted | convict convicted
        guest | host
        teacher | student pupil
        parent | child
        ancestor | descendant
        predecessor | successor
        employer | employee
        buyer | seller
        winner | loser
        hero protagonist | villain antagonist
        optimistic optimist | pessimistic pessimist
        conservative | liberal progressive
        rough | smooth
        sharp | blunt
        tight | loose
        sweet | bitter sour
        clean | dirty
        ripe | unripe raw
        raw | cooked
        fresh | stale
        solid | liquid gas
        freeze froze frozen | melt melted thaw boil
        acid acidic | alkaline base
        toxic poisonous | harmless nontoxic edible
        fertile | barren infertile
        sober | drunk
        asleep | awake
        present | absent
        presence | absence
        future | past
        initial initially | final finally eventually
        original | copy
        simple | complex complicated
        single | multiple several married
        whole entire | part
        entirely wholly completely | partly partially
        exactly precisely | approximately roughly
        primary | secondary
        senior | junior
        superior | inferior
        ahead | behind
        forward | backward
        together | apart alone separately
        offline | online
        analog analogue | digital
        manual manually | automatic automatically
        amateur | professional
        civilian | military
        sunny | rainy cloudy
        calm | stormy
        quiet silent | loud noisy
        polite | rude
        brave | cowardly
        generous | greedy stingy
        honest | dishonest
        loyal | disloyal
        patient | impatient
        mature | immature
        legal legally lawful | illegal illegally unlawful
        constitutional | unconstitutional
        democracy democratic | dictatorship autocratic
        gain | loss
        hero | coward
        heaven | hell
        wake | sleep
        float | sink
        sank sunk | floated
        widely | narrowly
        """,
    "ru": """
        вырос выросла выросло выросли увеличился увеличилась увеличились повысился повысилась повысились рост | упал упала упало упали снизился снизилась снизились сократился сократилась сократились уменьшился уменьшилась падение
        больше выше | меньше ниже
        большой крупный высокий | маленький малый мелкий низкий
        старый | новый молодой
        открыли открыл открыт открылся | закрыли закрыл закрыт закрылся
        начал начали начался | закончил закончили закончился
        купил купила купили | продал продала продали
        выиграл выиграла победил победила | проиграл проиграла
        разрешил разрешили разрешено одобрил одобрила одобрили | запретил запретили запрещено отклонил отклонила
        построил построили построен | разрушил разрушили разрушен снес снесли
        первый | последний
        до раньше | после позже
        родился родилась | умер умерла
        север северный | юг южный
        восток восточный | запад западный
        принял приняли | отверг отвергли
        дорогой | дешевый
        хороший лучший | плохой худший
        приехал приехали прибыл | уехал уехали
        сильный | слабый
        """,
    "de": """
        stieg stiegen gestiegen wuchs gewachsen erhoht | sank sanken gesunken fiel fielen gefallen gesenkt
        mehr | weniger
        hoch hoher hochste | niedrig niedriger niedrigste
        gross grosser grosste | klein kleiner kleinste
        alt alter alteste | neu neuer neueste jung
        offnete eroffnet eroffnete geoffnet | schloss geschlossen
        begann begonnen | endete beendet
        kaufte gekauft | verkaufte verkauft
        gewann gewonnen | verlor verloren
        erlaubt | verboten
        gebaut erbaut | zerstort abgerissen
        erste ersten | letzte letzten
        vor | nach
        geboren | gestorben
        nord nordlich | sud sudlich
        ost ostlich | west westlich
        """,
    "fr": """
        augmente augmentes hausse progresse | diminue baisse recule chute
        plus | moins
        grand grande grands | petit petite petits
        haut haute | bas basse
        ancien ancienne vieux | nouveau nouvelle jeune
        ouvert ouverte ouvre | ferme fermee
        commence debute | termine fini
        achete rachete | vendu vend
        gagne | perdu
        autorise permis | interdit refuse
        construit construite | detruit detruite demoli
        premier premiere | dernier derniere
        avant | apres
        nord | sud
        est | ouest
        ne nee | mort morte
        """,
    "es": """
        aumento aumentaron aumenta subio subieron crecio crecieron | disminuyo disminuyeron disminuye bajo bajaron cayo cayeron
        mas | menos
        grande mayor | pequeno pequena menor
        alto alta | bajo baja
        viejo antigua antiguo | nuevo nueva joven
        abrio abierto abierta | cerro cerrado cerrada
        comenzo empezo | termino acabo
        compro compraron | vendio vendieron
        gano ganaron | perdio perdieron
        permitio autorizo permite | prohibio rechazo prohibe
        construyo construida construido | destruyo destruida destruido
        primero primera | ultimo ultima
        antes | despues
        norte | sur
        nacio | murio
        """,
    "tr": """
        artti yukseldi buyudu | azaldi dustu kuculdu
        buyuk | kucuk
        yeni | eski
        acti acildi | kapatti kapandi
        satin aldi | satti
        kazandi | kaybetti
        kuzey | guney
        dogu | bati
        """,
    "zh": """
        增长 增加 上升 上涨 | 下降 减少 下跌 降低
        开放 | 关闭
        成功 | 失败
        批准 同意 | 拒绝 否决
        最大 | 最小
        最高 | 最低
        北部 | 南部
        东部 | 西部
        支持 | 反对
        """,
    "ja": """
        増加 上昇 | 減少 下落 低下
        成功 | 失敗
        承認 | 拒否 却下
        最大 | 最小
        最高 | 最低
        北部 | 南部
        東部 | 西部
        賛成 | 反対
        """,
    "ar": """
        ارتفع ارتفعت زاد زادت | انخفض انخفضت تراجع تراجعت
        كبير كبيرة | صغير صغيرة
        جديد جديدة | قديم قديمة
        فتح افتتح | اغلق أغلق
        فاز فازت | خسر خسرت
        شمال | جنوب
        شرق | غرب
        """,
    "hi": """
        बढ़ी बढ़ा बढ़े | घटी घटा घटे
        बड़ा बड़ी | छोटा छोटी
        नया नई | पुराना पुरानी
        खरीदा | बेचा
        जीता जीती | हारा हारी
        उत्तर | दक्षिण
        पूर्व | पश्चिम
        """,
}
_OPPOSING_PREFIXES = ("un", "in", "im", "ir", "il", "non", "dis", "mis")
_SHORTEST_PREFIXED = 4

# --- units of measure -----------------------------------------------------------------------------------------

_MEASURES = """
    metre meter m метр метров метра; kilometre kilometer km км километр километров; centimetre centimeter cm см; millimetre millimeter mm мм;
    foot feet ft; inch inches; mile miles mi миль миля; yard yd; nautical;
    gram gramme g грамм; kilogram kilogramme kg кг килограмм килограммов; tonne ton tons тонн тонна; pound-weight lb lbs; ounce oz;
    litre liter l литр литров; millilitre milliliter ml; gallon; barrel;
    second sec секунда секунд; minute min минута минут minuten; hour hr h час часов stunden heures horas; day день дней tage jours dias; week неделя недель wochen semaines semanas;
    month месяц месяцев monate mois meses; year год года лет jahr jahre ans anos; decade; century век веков;
    hectare ha гектар; acre; watt w ватт; kilowatt kw; megawatt mw; gigawatt gw; volt v;
    celsius; fahrenheit; kelvin; hertz hz; megahertz mhz; gigahertz ghz;
    byte; kilobyte kb; megabyte mb; gigabyte gb; terabyte tb; mph; knot; percent; degree;
    thousand; million; billion; trillion
"""
_SPACELESS_MEASURES = """
    dollar 美元 ドル; yuan 元 人民币; yen 日元 円; euro 欧元 ユーロ; metre 米 メートル; kilometre 公里 キロ; minute 分钟 分; hour 小时 時間;
    day 天 日间; year 年; percent 百分之 パーセント
"""
_FOREIGN_CURRENCIES = """
    dollar доллар долларов dolar dolares دولار دولارا डॉलर; euro евро يورو यूरो; ruble рублей рубля; dirham درهم درهما دراهم;
    rupee रुपये रुपए रुपया; lira; franc franken; pound фунт фунтов libras; yen
"""
_WEEKDAYS = """
    monday tuesday wednesday thursday friday saturday sunday montag dienstag mittwoch donnerstag freitag samstag sonntag
    понедельник вторник среда четверг пятница суббота воскресенье lundi mardi mercredi jeudi vendredi samedi dimanche
    lunes martes miercoles jueves viernes sabado domingo
"""
_THAN = {"en": "than", "de": "als", "ru": "чем"}
_ONES = "one один одна одно"
_PASSIVE = {"en": "by", "fr": "par", "es": "por"}
_RECIPROCAL = """
    met meet marry married wed divorce divorced and or with between versus vs join joined merge merged border near
    resemble fight fought play played face faced tie tied equal same both
"""


def _key(word: str) -> str:
    return next((found.key for found in words(word)), word)


def _keys(text: str) -> frozenset[str]:
    return frozenset(found.key for found in words(text))


def _for(table: dict[str, str], language: str) -> str:
    return table.get(base_language(language), "")


@lru_cache(maxsize=64)
def negations(language: str) -> frozenset[str]:
    """Return the folded words that deny; none for a language without a list."""
    return frozenset(_for(_NEGATIONS, language).split())


@lru_cache(maxsize=64)
def denials(language: str) -> frozenset[str]:
    """Return the keys of words that may deny in place of a negation."""
    return _keys(_for(_DENIALS, language))


def than(language: str) -> str:
    """Return the word after a comparative; empty for a language without one here."""
    return _for(_THAN, language)


@lru_cache(maxsize=1)
def ones() -> frozenset[str]:
    """Return the folded words for the number one."""
    return frozenset(_ONES.split())


@lru_cache(maxsize=64)
def no_negation_after(language: str) -> frozenset[str]:
    """Return the folded words that take a negation's force away when they follow it."""
    return frozenset(_for(_NO_NEGATIONS_AFTER, language).split())


def negation_follows(language: str) -> bool:
    """Whether a negation may stand after the verb that it denies."""
    return base_language(language) in _NEGATION_FOLLOWS


@lru_cache(maxsize=64)
def skipped_after_negation(language: str) -> frozenset[str]:
    """Return the folded words between a negation and what it denies."""
    return frozenset(_for(_SKIPPED_AFTER_NEGATION, language).split())


@lru_cache(maxsize=64)
def _antonyms(language: str) -> dict[str, set[str]]:
    """Return for each key the keys of its antonyms."""
    found: dict[str, set[str]] = {}
    for line in _for(_ANTONYMS, language).strip().splitlines():
        left, right = (_keys(side) for side in line.split("|"))
        for own, other in ((left, right), (right, left)):
            for key in own - other:
                found.setdefault(key, set()).update(other - own)
    return found


@lru_cache(maxsize=1 << 11)
def opposites(key: str, language: str) -> frozenset[str]:
    """Return the keys of a word's antonyms; in English also the key with and without a prefix that turns it round."""
    found = _antonyms(language).get(key, set[str]())
    if base_language(language) != "en" or not key.isascii() or not key.isalpha():
        return frozenset(found)
    without = [key.removeprefix(prefix) for prefix in _OPPOSING_PREFIXES if key.startswith(prefix)]
    added = [prefix + key for prefix in _OPPOSING_PREFIXES] if len(key) >= _SHORTEST_PREFIXED else []
    return frozenset([*found, *added, *(word for word in without if len(word) >= _SHORTEST_PREFIXED)])


@lru_cache(maxsize=1)
def measures() -> dict[str, str]:
    """Return for each key of a unit of measure or currency the one name that its spellings share."""
    found = {key: key for key in CURRENCY_KEYS}
    for row in f"{_MEASURES};{_FOREIGN_CURRENCIES}".split(";"):
        names = row.split()
        own = _key(names[0])
        for name in names:
            found.setdefault(_key(name), own)
    return found


@lru_cache(maxsize=1)
def spaceless_measures() -> tuple[tuple[str, str], ...]:
    """Return (spelling, shared name) of measures in scripts without spaces, longer spellings first."""
    rows = (row.split() for row in _SPACELESS_MEASURES.split(";"))
    pairs = [(name, _key(first)) for first, *names in rows for name in names]
    return tuple(sorted(pairs, key=lambda pair: -len(pair[0])))


@lru_cache(maxsize=1)
def calendar() -> dict[str, str]:
    """Return for each key of a month or weekday which of the two it is."""
    return {**dict.fromkeys(MONTH_KEYS, "month"), **{_key(name): "weekday" for name in _WEEKDAYS.split()}}


def passive_mark(language: str) -> str | None:
    """Return the word before the agent of a passive; None where the order of words does not tell roles."""
    return _PASSIVE.get(base_language(language))


@lru_cache(maxsize=1)
def reciprocal() -> frozenset[str]:
    """Return the keys of words whose two sides may change places."""
    return _keys(_RECIPROCAL)
