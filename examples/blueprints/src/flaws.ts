/** What is wrong with a definition: which field of it, by path (`spec.resources[0].id`), and what would be right. */
export interface Flaw {
  readonly field: string
  readonly why: string
}

const plainName = /^[A-Za-z_$][\w$]*$/

/** The path of a member or an item of what stands at `path`. */
export const below = (path: string, segment: string | number): string => {
  if (typeof segment === "number") return `${path}[${segment}]`
  return plainName.test(segment)
    ? `${path}${path === "" ? "" : "."}${segment}`
    : `${path}[${JSON.stringify(segment)}]`
}
