/**
 * The rules of recording events: which occurrences are one series, which are let through, and what is to be written.
 * Synchronous: no Effect, no clock, no fiber. One record holds the state; only {@link record}, {@link take} and
 * {@link written} change it.
 *
 * Every collection is bounded: subjects (the least recently used goes), series a subject, series to be written.
 */

/** What an event is about. */
export interface Subject {
  readonly apiVersion: string
  readonly kind: string
  readonly namespace: string
  readonly name: string
  readonly uid: string
}

export interface Occurrence {
  readonly subject: Subject
  readonly type: "Normal" | "Warning"
  readonly reason: string
  readonly message: string
  readonly action: string
  readonly component: string
}

/** Occurrences that are one Event object: `count` of them since this process knows it. */
export interface Series {
  readonly name: string
  readonly namespace: string
  /** The last one. */
  occurrence: Occurrence
  readonly firstMillis: number
  lastMillis: number
  count: number
  /** What the store had counted before this process; undefined until the first write. */
  stored: number | undefined
}

interface SubjectState {
  tokens: number
  refilledMillis: number
  readonly series: Map<string, Series>
  /** Distinct messages of what is otherwise alike, and since when they count. */
  readonly alike: Map<string, { readonly sinceMillis: number; readonly messages: Set<string> }>
}

export interface Settings {
  readonly burst: number
  readonly refillMillis: number
  readonly maxAlike: number
  readonly alikeMillis: number
  readonly maxSeries: number
  readonly seriesMillis: number
  readonly maxSubjects: number
  readonly maxPending: number
}

export const defaults: Settings = {
  // client-go's: 25 at once, then one in five minutes; ten alike in ten minutes are combined
  burst: 25,
  refillMillis: 300_000,
  maxAlike: 10,
  alikeMillis: 600_000,
  maxSeries: 100,
  seriesMillis: 3_600_000,
  maxSubjects: 4096,
  maxPending: 1000
}

export interface State {
  readonly settings: Settings
  /** The least recently used first. */
  readonly subjects: Map<string, SubjectState>
  /** Series to be written, the oldest first. */
  readonly pending: Set<Series>
  recorded: number
  readonly dropped: { rate: number; full: number; failed: number }
}

export const make = (settings: Settings): State => ({
  settings,
  subjects: new Map(),
  pending: new Set(),
  recorded: 0,
  dropped: { rate: 0, full: 0, failed: 0 }
})

/** Takes an occurrence in. Repetitions of what waits to be written, and of what is over the rate, are counted only. */
export const record = (state: State, occurrence: Occurrence, nowMillis: number): void => {
  const subject = subjectOf(state, occurrence.subject, nowMillis)
  forgetOld(state, subject, nowMillis)
  const one = combined(state, subject, occurrence, nowMillis)
  const key = keyOf(one)
  const known = subject.series.get(key)
  if (known !== undefined) {
    known.occurrence = one
    known.lastMillis = nowMillis
    known.count++
    if (!state.pending.has(known) && refusal(state, subject) === undefined) offer(state, subject, known)
    return
  }
  const series: Series = {
    name: nameOf(one.subject, key),
    namespace: one.subject.namespace === "" ? "default" : one.subject.namespace,
    occurrence: one,
    firstMillis: nowMillis,
    lastMillis: nowMillis,
    count: 1,
    stored: undefined
  }
  const refused = refusal(state, subject)
  if (refused !== undefined) {
    state.dropped[refused]++
    return
  }
  offer(state, subject, series)
  if (subject.series.size >= state.settings.maxSeries) forgetOldest(subject)
  subject.series.set(key, series)
}

/** The series that waits longest to be written. */
export const take = (state: State): Series | undefined => {
  for (const series of state.pending) {
    state.pending.delete(series)
    return series
  }
  return undefined
}

/** A series was written: the store had counted `stored` before this process. */
export const written = (state: State, series: Series, stored: number): void => {
  series.stored = stored
  state.recorded++
}

/** A series could not be written. Its next occurrence tries again. */
export const failed = (state: State): void => {
  state.dropped.failed++
}

const refusal = (state: State, subject: SubjectState): "full" | "rate" | undefined =>
  state.pending.size >= state.settings.maxPending ? "full" : subject.tokens < 1 ? "rate" : undefined

const offer = (state: State, subject: SubjectState, series: Series): void => {
  subject.tokens--
  state.pending.add(series)
}

const subjectOf = (state: State, { kind, name, namespace, uid }: Subject, nowMillis: number): SubjectState => {
  const { burst, maxSubjects, refillMillis } = state.settings
  const key = uid === "" ? `${kind} ${namespace}/${name}` : uid
  const known = state.subjects.get(key)
  const subject = known ?? { tokens: burst, refilledMillis: nowMillis, series: new Map(), alike: new Map() }
  const refills = Math.max(0, Math.floor((nowMillis - subject.refilledMillis) / refillMillis))
  subject.tokens = Math.min(burst, subject.tokens + refills)
  subject.refilledMillis += refills * refillMillis
  state.subjects.delete(key)
  state.subjects.set(key, subject)
  if (state.subjects.size > maxSubjects) {
    for (const oldest of state.subjects.keys()) {
      state.subjects.delete(oldest)
      break
    }
  }
  return subject
}

/** Past the bound of distinct messages, what is otherwise alike becomes one series. */
const combined = (state: State, subject: SubjectState, occurrence: Occurrence, nowMillis: number): Occurrence => {
  const { alikeMillis, maxAlike } = state.settings
  const key = [occurrence.type, occurrence.reason, occurrence.action, occurrence.component].join("\n")
  const known = subject.alike.get(key)
  const alike = known === undefined || nowMillis - known.sinceMillis >= alikeMillis
    ? { sinceMillis: nowMillis, messages: new Set<string>() }
    : known
  subject.alike.set(key, alike)
  if (alike.messages.has(occurrence.message)) return occurrence
  if (alike.messages.size >= maxAlike) return { ...occurrence, message: combinedPrefix + occurrence.message }
  alike.messages.add(occurrence.message)
  return occurrence
}

const combinedPrefix = "(combined from similar events): "

const keyOf = ({ action, component, message, reason, type }: Occurrence): string =>
  [type, reason, action, component, message.startsWith(combinedPrefix) ? combinedPrefix : message].join("\n")

/** What has not happened for an hour is over: the collector deletes its Event. */
const forgetOld = (state: State, subject: SubjectState, nowMillis: number): void => {
  const { alikeMillis, seriesMillis } = state.settings
  for (const [key, series] of subject.series) {
    if (nowMillis - series.lastMillis >= seriesMillis) subject.series.delete(key)
  }
  for (const [key, { sinceMillis }] of subject.alike) {
    if (nowMillis - sinceMillis >= alikeMillis) subject.alike.delete(key)
  }
}

const forgetOldest = (subject: SubjectState): void => {
  let oldest: readonly [key: string, lastMillis: number] | undefined
  for (const [key, { lastMillis }] of subject.series) {
    if (oldest === undefined || lastMillis < oldest[1]) oldest = [key, lastMillis]
  }
  if (oldest !== undefined) subject.series.delete(oldest[0])
}

/** The same series has the same name in every process, so that a restart goes on counting. */
const nameOf = (subject: Subject, key: string): string => {
  const text = `${subject.uid}\n${subject.kind}\n${key}`
  return `${subject.name.slice(0, 230).replace(/[^a-z0-9]+$/, "")}.${hash(text, 0)}${hash(text, 1)}`
}

/** FNV-1a, 32 bits, from a start of its own for each lane. */
const hash = (text: string, lane: number): string => {
  let value = 0x811c9dc5 ^ Math.imul(lane, 0x9e3779b1)
  for (let i = 0; i < text.length; i++) value = Math.imul(value ^ text.charCodeAt(i), 0x01000193)
  return (value >>> 0).toString(16).padStart(8, "0")
}
