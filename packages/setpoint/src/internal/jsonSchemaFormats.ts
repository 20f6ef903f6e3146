/**
 * The values of `format` that count in a schema from data. Each judges values of its own type and lets all others pass;
 * a format that is not here is a note for readers.
 */
import type { Json } from "./json.ts"

const isString = (json: Json): json is string => typeof json === "string"
const isNumber = (json: Json): json is number => typeof json === "number"

const between = (low: number, high: number) => (value: Json): boolean =>
  !isNumber(value) || (value >= low && value <= high)
const matching = (pattern: RegExp) => (value: Json): boolean => !isString(value) || pattern.test(value)
const dayPattern = /^(\d{4})-(\d\d)-(\d\d)$/

const isDay = (text: string): boolean => {
  const [, year, month, day] = (dayPattern.exec(text) ?? []).map(Number)
  if (year === undefined || month === undefined || day === undefined || month < 1 || month > 12 || day < 1) return false
  const leap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)
  return day <= [31, leap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month - 1]
}

const timePattern = /^([01]\d|2[0-3]):[0-5]\d:([0-5]\d|60)(\.\d+)?([zZ]|[+-]([01]\d|2[0-3]):[0-5]\d)$/
const octet = "(25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)"

export const formats: { readonly [format: string]: (value: Json) => boolean } = {
  int32: between(-(2 ** 31), 2 ** 31 - 1),
  int64: between(-(2 ** 63), 2 ** 63),
  date: (value) => !isString(value) || isDay(value),
  "date-time": (value) =>
    !isString(value) || (/^.{10}[tT]/.test(value) && isDay(value.slice(0, 10)) && timePattern.test(value.slice(11))),
  uuid: matching(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i),
  ipv4: matching(new RegExp(`^(${octet}\\.){3}${octet}$`)),
  byte: matching(/^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/)
}
