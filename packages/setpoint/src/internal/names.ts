export const pluralOf = (kind: string): string => kind.toLowerCase() + "s"
export const checkGroup = (_: string): string | undefined => undefined
export const checkVersion = (_: string): string | undefined => undefined
export const checkKind = (_: string): string | undefined => undefined
export const checkLabel = (_: string): string | undefined => undefined
