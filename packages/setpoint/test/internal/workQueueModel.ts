/**
 * What the work queue shall do, as plainly as it can be said: one record a key, lists that are searched, nothing linked and
 * no heap. Slow, and easy to check by eye.
 */
interface Key {
  place: "Idle" | "Ready" | "Running" | "Waiting" | "Held"
  /** Of the adds that are not yet taken. */
  lane: number
  since: number
  /** The order in which keys came to where they are. */
  order: number
  /** The earliest time wanted: -Infinity for now. */
  wanted: number
  window: { due: number; by: number } | undefined
  due: number
  reasons: Array<string>
  others: number
  gate: number
  gateExpired: boolean
  failures: number
  requeues: number
  retryDue: number
  retries: number
}

interface Next {
  readonly delayMillis: number
  readonly lane: number
  readonly reason: string
}

export class Model {
  now = 0
  adds = 0
  private order = 0
  private phase: "open" | "closed" | "shut" = "open"
  private readonly keys = new Map<string, Key>()
  private readonly settings: {
    readonly ageAfterMillis: number
    readonly maxReasons: number
    readonly debounce: { readonly windowMillis: number; readonly maxWaitMillis: number } | undefined
    readonly retryDelays: ReadonlyArray<number>
    readonly requeueDelays: ReadonlyArray<number>
  }

  constructor(settings: Model["settings"]) {
    this.settings = settings
  }

  add(name: string, lane: number, reason: string, delayMillis: number): void {
    if (this.phase !== "open") return
    const key = this.known(name)
    this.want(key, reason)
    const delay = whole(delayMillis)
    if (key.place === "Ready") return this.lift(key, lane)
    key.lane = Math.min(key.lane, lane)
    if (key.place === "Held") return
    if (delay > 0 && this.now + delay >= key.wanted) return
    if (delay > 0) key.wanted = this.now + delay
    else if (this.settings.debounce === undefined) key.wanted = -Infinity
    else this.restartWindow(key, this.settings.debounce)
    if (key.place !== "Running") this.replace(name, key)
  }

  take() {
    const ready = [...this.keys].filter(([, key]) => key.place === "Ready")
    const [first] = ready.toSorted(([, a], [, b]) =>
      this.laneNow(a) - this.laneNow(b) || this.cameToLane(a) - this.cameToLane(b) || b.lane - a.lane ||
      a.order - b.order
    )
    if (first === undefined) return undefined
    const [name, key] = first
    const { failures, gateExpired, others, reasons, requeues, retryDue } = key
    Object.assign(key, { place: "Running", lane: 2, reasons: [], others: 0, gateExpired: false })
    return { key: name, reasons, others, failures, requeues, retryDue, gateExpired }
  }

  finish(name: string, failures: "forget" | "keep", next: Next | undefined): void {
    const key = this.known(name)
    if (failures === "forget" || key.failures === 0) this.forgetFailures(key)
    key.requeues = 0
    this.follow(name, key, next)
  }

  requeue(name: string, reason: string, orElse: Next | undefined): string {
    const key = this.known(name)
    this.forgetFailures(key)
    const delayMillis = this.settings.requeueDelays[key.requeues++]
    this.follow(name, key, delayMillis === undefined ? orElse : { delayMillis, lane: 1, reason })
    return delayMillis === undefined ? "ended" : "stepped"
  }

  fail(name: string, notBefore: number, reason: string, orElse: Next | undefined): string {
    const key = this.known(name)
    key.requeues = 0
    const isPending = key.retryDue > this.now
    const delay = isPending ? key.retryDue - this.now : this.settings.retryDelays[key.retries++]
    if (!isPending) key.failures++
    key.retryDue = delay === undefined ? -Infinity : this.now + Math.max(delay, whole(notBefore))
    const next = delay === undefined ? orElse : { delayMillis: key.retryDue - this.now, lane: 1, reason }
    this.follow(name, key, next)
    return delay === undefined ? "ended" : isPending ? "kept" : "stepped"
  }

  closeGate(name: string, until: number): void {
    if (this.phase !== "open" || until <= this.now) return
    const key = this.known(name)
    key.gate = until
    this.passGate(name, key)
  }

  openGate(name: string): void {
    const key = this.keys.get(name)
    if (key === undefined || key.gate === -Infinity) return
    key.gate = -Infinity
    this.passGate(name, key)
  }

  forget(name: string): void {
    const key = this.keys.get(name)
    if (key === undefined) return
    this.forgetFailures(key)
    key.requeues = 0
    if (key.place === "Idle") this.replace(name, key)
  }

  wait(until: number): void {
    for (;;) {
      const due = [...this.keys].filter(([, key]) => key.due <= until)
      const [first] = due.toSorted(([, a], [, b]) => a.due - b.due || a.order - b.order)
      if (first === undefined) break
      const [name, key] = first
      this.now = key.due
      if (key.place === "Waiting") this.becomeDue(key)
      else if (key.place === "Held") this.stand(key)
      else this.replace(name, key)
    }
    this.now = until
  }

  close(isShut: boolean): void {
    this.phase = isShut ? "shut" : "closed"
    for (const [name, key] of this.keys) {
      const isKept = key.place === "Running" || (key.place === "Ready" && !isShut)
      if (!isKept) this.keys.delete(name)
    }
  }

  places(): Record<string, unknown> {
    const places: Record<string, unknown> = {}
    for (const [name, key] of this.keys) {
      const due = key.place === "Running" ? Math.min(key.wanted, key.window?.due ?? Infinity) : key.due
      places[name] = {
        place: key.place,
        lane: key.lane,
        next: due === Infinity || due === -Infinity ? undefined : Math.max(0, due - this.now),
        failures: key.failures,
        requeues: key.requeues,
        reasons: key.reasons,
        gateClosed: key.gate > this.now
      }
    }
    return places
  }

  private known(name: string): Key {
    const known = this.keys.get(name)
    if (known !== undefined) return known
    const key: Key = {
      place: "Idle",
      lane: 2,
      since: 0,
      order: 0,
      wanted: Infinity,
      window: undefined,
      due: Infinity,
      reasons: [],
      others: 0,
      gate: -Infinity,
      gateExpired: false,
      failures: 0,
      requeues: 0,
      retryDue: -Infinity,
      retries: 0
    }
    this.keys.set(name, key)
    return key
  }

  private want(key: Key, reason: string): void {
    if (key.reasons.includes(reason)) return
    if (key.reasons.length < this.settings.maxReasons) key.reasons.push(reason)
    else key.others++
  }

  private laneNow(key: Key): number {
    return Math.max(0, key.lane - Math.floor((this.now - key.since) / this.settings.ageAfterMillis))
  }

  private cameToLane(key: Key): number {
    return key.since + (key.lane - this.laneNow(key)) * this.settings.ageAfterMillis
  }

  private lift(key: Key, lane: number): void {
    if (lane < this.laneNow(key)) Object.assign(key, { lane, since: this.now, order: this.order++ })
  }

  private restartWindow(key: Key, debounce: { readonly windowMillis: number; readonly maxWaitMillis: number }): void {
    const by = key.window?.by ?? this.now + debounce.maxWaitMillis
    key.window = { by, due: Math.min(this.now + debounce.windowMillis, by) }
  }

  private follow(name: string, key: Key, next: Next | undefined): void {
    if (next !== undefined && this.phase === "open") {
      this.want(key, next.reason)
      key.lane = Math.min(key.lane, next.lane)
      const delay = whole(next.delayMillis)
      key.wanted = Math.min(key.wanted, delay > 0 ? this.now + delay : -Infinity)
    }
    this.replace(name, key)
  }

  /** Gives a key the place that its wishes and its memory ask for. */
  private replace(name: string, key: Key): void {
    if (this.phase !== "open" && !(this.phase === "closed" && key.wanted === -Infinity && key.gate <= this.now)) {
      this.keys.delete(name)
      return
    }
    const due = Math.min(key.wanted, key.window?.due ?? Infinity)
    if (due <= this.now) return this.becomeDue(key)
    if (due < Infinity) return this.sleep(key, "Waiting", due)
    if (key.gate > this.now) return this.sleep(key, "Idle", key.gate)
    key.gate = -Infinity
    if (key.failures + key.requeues === 0) this.keys.delete(name)
    else Object.assign(key, { place: "Idle", due: Infinity })
  }

  private sleep(key: Key, place: Key["place"], due: number): void {
    Object.assign(key, { place, due, order: this.order++ })
  }

  private becomeDue(key: Key): void {
    this.adds++
    Object.assign(key, { wanted: Infinity, window: undefined })
    this.stand(key)
  }

  private stand(key: Key): void {
    if (key.gate > this.now) return this.sleep(key, "Held", key.gate)
    if (key.gate !== -Infinity) Object.assign(key, { gateExpired: true, gate: -Infinity })
    Object.assign(key, { place: "Ready", due: Infinity, since: this.now, order: this.order++ })
  }

  private passGate(name: string, key: Key): void {
    if (key.place === "Ready" || key.place === "Held") this.stand(key)
    else if (key.place === "Idle") this.replace(name, key)
  }

  private forgetFailures(key: Key): void {
    Object.assign(key, { failures: 0, retries: 0, retryDue: -Infinity })
  }
}

/** A delay as a whole number of millis: none where it is not above zero, the longest where it is beyond it. */
const whole = (millis: number): number => millis > 0 ? Math.min(Math.ceil(millis), Number.MAX_SAFE_INTEGER) : 0
