/**
 * Words that nearly every text has, so that they tell none from another. Short on purpose: names and abbreviations that look
 * like one (WHO, US, IT) are worth more than the time saved, and BM25 gives a common word little weight anyhow.
 */
const LISTS: Readonly<Record<string, string>> = {
  english: `a an the and or but nor of in on at by for from with to into as than if so is are was were be been being am do does
    did have has had would could should i me my we our you your he him his she her they them their its it this that these
    those whom whose which what when where why how there here not it's that's what's isn't aren't wasn't don't doesn't didn't`,
  german: `der die das den dem des ein eine einen einem einer eines und oder aber in im an am auf aus bei beim mit nach von vom
    vor zu zum zur für über um als wie dass daß wenn ob ist sind war waren sei wird werden wurde wurden hat haben hatte hatten
    ich du er sie es wir ihr ihn ihm ihnen mich mir sich sein seine ihre dieser diese dieses nicht kein keine welche welcher
    welches was wer wen wem wo wann warum auch es`,
  french: `le la les un une des du de d et ou mais à au aux en dans par pour sur avec sans sous que qui quoi dont où ne pas
    est sont était étaient être été a ont avait avaient avoir je tu il elle nous vous ils elles on me te se lui leur leurs son
    sa ses mon ma mes ce cet cette ces quel quelle quels quelles comment quand pourquoi c'est qu'il qu'elle d'un d'une n'est
    s'il l'on`,
  spanish: `el la los las un una unos unas de del y e o u pero en a al con por para sin sobre que qué quien quién cual cuál
    cuales cuáles cuando cuándo donde dónde como cómo es son era eran fue fueron ser ha han había haber se su sus lo le les me
    te nos mi mis yo tú él ella ellos ellas este esta estos estas ese esa esos esas no`,
  italian: `il lo la i gli le un uno una di del dello della dei degli delle e ed o ma in nel nella nei nelle a al alla ai alle da
    dal dalla con su sul sulla per tra fra che chi cui quale quali quando dove come perché è sono era erano essere stato ha
    hanno aveva avere si io tu lui lei noi voi loro mi ti ci vi suo sua suoi sue questo questa questi queste non`,
  portuguese: `o a os as um uma uns umas de do da dos das e ou mas em no na nos nas ao à aos às por pelo pela com sem para
    sobre que quem qual quais quando onde como é são era eram foi foram ser ter tem têm tinha há se seu sua seus suas eu tu ele
    ela nós eles elas lhe este esta estes estas esse essa não`,
  dutch: `de het een en of maar van in op aan bij met naar uit voor door over om als dan dat die dit deze is zijn was waren
    wordt worden werd werden heeft hebben had hadden ik je jij hij zij ze wij we jullie hem haar hun zich niet geen wie wat
    waar wanneer waarom hoe welke welk er te`,
  swedish: `en ett den det de och eller men i på av för från med till om som att är var vara varit blir blev har hade jag du han
    hon vi ni dem sig sin sitt sina denna detta dessa inte vad vem vilken vilket vilka när hur varför`,
  norwegian: `en et ei den det de og eller men i på av for fra med til om som at å er var være vært blir ble har hadde jeg du
    han hun vi dere dem seg sin sitt sine denne dette disse ikke hva hvem hvilken hvilket hvilke når hvor hvordan hvorfor`,
  danish: `en et den det de og eller men i på af for fra med til om som at er var være været bliver blev har havde jeg du han hun
    vi dem sig sin sit sine denne dette disse ikke hvad hvem hvilken hvilket hvilke hvornår hvor hvordan hvorfor`,
  finnish: `ja tai mutta että jos kun kuin on ovat oli olivat olla ollut ei eivät se ne hän he minä sinä me te tämä tuo nämä nuo
    joka jotka mikä mitä kuka ketä missä milloin miten miksi`,
  russian: `и или но а в во на с со к ко у о об от до из за по для при без над под что чтобы как если то же ли не ни бы я ты он
    она оно мы вы они его её ее их ему ей им это этот эта эти тот та те который которая которое которые кто кого когда где
    почему был была было были быть есть`,
  chinese:
    "的 了 是 在 和 与 及 或 有 被 把 为 对 从 到 也 就 都 而 其 这 那 他 她 它 们 我 你 谁 什么 哪 哪个 哪些 哪里 多少 怎么 如何 为什么 吗 呢 吧",
  japanese:
    "の は が を に で と も へ や か から まで より です ます でし まし た て だ な いる ある する し この その あの これ それ 何 誰 どこ いつ どの",
};

const none: ReadonlySet<string> = new Set();
const sets = new Map(Object.entries(LISTS).map(([language, list]) => [language, new Set(list.split(/\s+/))]));

/** Lower-case, unstemmed; empty for a language without a list. */
export const stopWordsOf = (language: string): ReadonlySet<string> => sets.get(language) ?? none;
