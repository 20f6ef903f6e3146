/** Keys in order, in blocks: a key is found, put in or taken out at the cost of one block, however many there are. */

/** No block is empty; each key is less than those of the next block. */
export interface SortedKeys {
  readonly blocks: Array<Array<string>>
}

const blockSize = 512

export const make = (): SortedKeys => ({ blocks: [] })

/** The first place in a list whose element is not before the key. */
const lowerBound = <A>(list: ReadonlyArray<A>, key: string, keyOf: (element: A) => string): number => {
  let low = 0
  let high = list.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (keyOf(list[middle]) < key) low = middle + 1
    else high = middle
  }
  return low
}

const itself = (key: string): string => key
const lastOf = (block: ReadonlyArray<string>): string => block[block.length - 1]

/** Puts in a key that is not there. */
export const insert = ({ blocks }: SortedKeys, key: string): void => {
  if (blocks.length === 0) return void blocks.push([key])
  const at = Math.min(lowerBound(blocks, key, lastOf), blocks.length - 1)
  const block = blocks[at]
  if (lastOf(block) < key) block.push(key)
  else block.splice(lowerBound(block, key, itself), 0, key)
  // Keys often come in order: a full last block is then left full.
  if (block.length > blockSize) {
    blocks.splice(at + 1, 0, block.splice(at === blocks.length - 1 ? blockSize - 1 : blockSize / 2))
  }
}

/** Takes out a key that is there. */
export const remove = ({ blocks }: SortedKeys, key: string): void => {
  const at = lowerBound(blocks, key, lastOf)
  const block = blocks[at]
  block.splice(lowerBound(block, key, itself), 1)
  if (block.length === 0) return void blocks.splice(at, 1)
  if (at + 1 < blocks.length && block.length + blocks[at + 1].length <= blockSize / 2) {
    block.push(...blocks[at + 1])
    blocks.splice(at + 1, 1)
  }
}

/** The keys from this one on. */
export function* from({ blocks }: SortedKeys, key: string): Generator<string> {
  const first = lowerBound(blocks, key, lastOf)
  for (let b = first; b < blocks.length; b++) {
    const block = blocks[b]
    for (let i = b === first ? lowerBound(block, key, itself) : 0; i < block.length; i++) yield block[i]
  }
}
