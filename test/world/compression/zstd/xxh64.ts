/** Halves of a 64-bit number: BigInt would take seconds for an image. */
let high = 0;
let low = 0;

const p1: readonly [number, number] = [0x9e3779b1, 0x85ebca87];
const p2: readonly [number, number] = [0xc2b2ae3d, 0x27d4eb4f];
const p3: readonly [number, number] = [0x165667b1, 0x9e3779f9];
const p4: readonly [number, number] = [0x85ebca77, 0xc2b2ae63];
const p5: readonly [number, number] = [0x27d4eb2f, 0x165667c5];

/** Sets `high` and `low` to the product of two numbers modulo 2^64. Steps of sixteen bits stay exact. */
function multiply(ah: number, al: number, [bh, bl]: readonly [number, number]): void {
  const a0 = al & 0xffff;
  const a1 = al >>> 16;
  const b0 = bl & 0xffff;
  const b1 = bl >>> 16;
  const p00 = Math.imul(a0, b0);
  const p01 = Math.imul(a0, b1);
  const p10 = Math.imul(a1, b0);
  const middle = (p00 >>> 16) + (p01 & 0xffff) + (p10 & 0xffff);
  const carry = Math.imul(a1, b1) + (p01 >>> 16) + (p10 >>> 16) + (middle >>> 16);
  low = ((middle << 16) | (p00 & 0xffff)) >>> 0;
  high = (carry + Math.imul(ah, bl) + Math.imul(al, bh)) >>> 0;
}

function add(ah: number, al: number, bh: number, bl: number): void {
  const sum = al + bl;
  low = sum >>> 0;
  high = (ah + bh + (sum > 0xffffffff ? 1 : 0)) >>> 0;
}

/** By less than 32. */
function rotate(ah: number, al: number, bits: number): void {
  high = ((ah << bits) | (al >>> (32 - bits))) >>> 0;
  low = ((al << bits) | (ah >>> (32 - bits))) >>> 0;
}

/** One step of a lane: its accumulator, and eight more bytes. */
function round(ah: number, al: number, bh: number, bl: number): void {
  multiply(bh, bl, p2);
  add(ah, al, high, low);
  rotate(high, low, 31);
  multiply(high, low, p1);
}

/** XXH64 without a seed, over a stream of bytes (xxHash: doc/xxhash_spec.md). */
export class Xxh64 {
  readonly #lanes = Uint32Array.from([...this.#start()]);
  #held = Buffer.alloc(0);
  #length = 0;

  *#start(): Generator<number> {
    add(...p1, ...p2);
    yield* [high, low, ...p2, 0, 0];
    add(0, 0, ~p1[0] >>> 0, ~p1[1] >>> 0);
    add(high, low, 0, 1);
    yield* [high, low];
  }

  update(bytes: Buffer): void {
    this.#length += bytes.length;
    const all = this.#held.length > 0 ? Buffer.concat([this.#held, bytes]) : bytes;
    const end = all.length - (all.length % 32);
    for (let priority = 0; priority < 4; priority += 1) this.#run(priority, all, end);
    this.#held = Buffer.from(all.subarray(end));
  }

  /** One lane over the whole input: the steps of {@link round}, inlined, because all the time is spent here. */
  #run(priority: number, all: Buffer, end: number): void {
    let h = (this.#lanes[2 * priority] ?? 0) | 0;
    let l = (this.#lanes[2 * priority + 1] ?? 0) | 0;
    const view = new DataView(all.buffer, all.byteOffset, all.length);
    for (let at = 8 * priority; at < end; at += 32) {
      const il = view.getInt32(at, true);
      const ih = view.getInt32(at + 4, true);
      const i0 = il & 0xffff;
      const i1 = il >>> 16;
      let p00 = Math.imul(i0, 0xeb4f);
      let p01 = Math.imul(i0, 0x27d4);
      let p10 = Math.imul(i1, 0xeb4f);
      let middle = (p00 >>> 16) + (p01 & 0xffff) + (p10 & 0xffff);
      const ph =
        (Math.imul(i1, 0x27d4) +
          (p01 >>> 16) +
          (p10 >>> 16) +
          (middle >>> 16) +
          Math.imul(ih, 0x27d4eb4f) +
          Math.imul(il, 0xc2b2ae3d)) |
        0;
      const sum = (l >>> 0) + (((middle << 16) | (p00 & 0xffff)) >>> 0);
      const sh = (h + ph + (sum > 0xffffffff ? 1 : 0)) | 0;
      const sl = sum | 0;
      const rh = (sh << 31) | (sl >>> 1);
      const rl = (sl << 31) | (sh >>> 1);
      const r0 = rl & 0xffff;
      const r1 = rl >>> 16;
      p00 = Math.imul(r0, 0xca87);
      p01 = Math.imul(r0, 0x85eb);
      p10 = Math.imul(r1, 0xca87);
      middle = (p00 >>> 16) + (p01 & 0xffff) + (p10 & 0xffff);
      h =
        (Math.imul(r1, 0x85eb) +
          (p01 >>> 16) +
          (p10 >>> 16) +
          (middle >>> 16) +
          Math.imul(rh, 0x85ebca87) +
          Math.imul(rl, 0x9e3779b1)) |
        0;
      l = (middle << 16) | (p00 & 0xffff);
    }
    this.#lanes[2 * priority] = h >>> 0;
    this.#lanes[2 * priority + 1] = l >>> 0;
  }

  /** Eight bytes, the highest first. */
  digest(): Buffer {
    this.#begin();
    add(high, low, Math.floor(this.#length / 0x100000000), this.#length >>> 0);
    this.#tail();
    avalanche();
    const found = Buffer.alloc(8);
    found.writeUInt32BE(high, 0);
    found.writeUInt32BE(low, 4);
    return found;
  }

  #begin(): void {
    const priority = (index: number): [number, number] => [
      this.#lanes[2 * index] ?? 0,
      this.#lanes[2 * index + 1] ?? 0,
    ];
    if (this.#length < 32) {
      [high, low] = p5;
      return;
    }
    let [sumHigh, sumLow] = [0, 0];
    for (const [index, bits] of [1, 7, 12, 18].entries()) {
      rotate(...priority(index), bits);
      add(sumHigh, sumLow, high, low);
      [sumHigh, sumLow] = [high, low];
    }
    for (let index = 0; index < 4; index += 1) {
      round(0, 0, ...priority(index));
      multiply((sumHigh ^ high) >>> 0, (sumLow ^ low) >>> 0, p1);
      add(high, low, ...p4);
      [sumHigh, sumLow] = [high, low];
    }
  }

  #tail(): void {
    const rest = this.#held;
    let at = 0;
    const mix = (bits: number, by: readonly [number, number], plus: readonly [number, number]): void => {
      rotate(high, low, bits);
      multiply(high, low, by);
      add(high, low, ...plus);
    };
    for (; at + 8 <= rest.length; at += 8) {
      const [h, l] = [high, low];
      round(0, 0, rest.readUInt32LE(at + 4), rest.readUInt32LE(at));
      [high, low] = [(h ^ high) >>> 0, (l ^ low) >>> 0];
      mix(27, p1, p4);
    }
    if (at + 4 <= rest.length) {
      const [h, l] = [high, low];
      multiply(0, rest.readUInt32LE(at), p1);
      [high, low] = [(h ^ high) >>> 0, (l ^ low) >>> 0];
      mix(23, p2, p3);
      at += 4;
    }
    for (; at < rest.length; at += 1) {
      const [h, l] = [high, low];
      multiply(0, rest.readUInt8(at), p5);
      [high, low] = [(h ^ high) >>> 0, (l ^ low) >>> 0];
      mix(11, p1, [0, 0]);
    }
  }
}

function avalanche(): void {
  // Shifted by 33, 29 and 32 bits.
  low = (low ^ (high >>> 1)) >>> 0;
  multiply(high, low, p2);
  [high, low] = [(high ^ (high >>> 29)) >>> 0, (low ^ ((low >>> 29) | (high << 3))) >>> 0];
  multiply(high, low, p3);
  low = (low ^ high) >>> 0;
}
