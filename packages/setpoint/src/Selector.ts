/** Placeholder until the branch `model` lands. */
export interface Selector {
  readonly requirements: ReadonlyArray<{ readonly key: string }>
}
