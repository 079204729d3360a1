import type { Clock } from '../../../lib/clock.ts';
import { OwnWrites } from './own-writes.ts';
import type { ReadStamp } from './read-stamp.ts';

/**
 * Maximum age where changes cause events, in case that one is lost. What a step was answered is of use to its
 * successors for so long: on a busy system a single call takes half of it.
 */
export const heardSeconds = 45;
/**
 * Maximum age without events: of pools and files, which have none, of everything while nothing is subscribed to, and of
 * what people are told.
 */
export const unheardSeconds = 15;

/** What a reader accepts. By default everything that is valid. */
export interface ReadFreshness {
  /** Only what was read from this version on. */
  readonly atLeast?: number;
  readonly maxAgeSeconds?: number;
}

/**
 * The versions of what is known of one system. Changes of ours and doubts raise the version, and what was read before
 * does not count any more: of the object that was changed, or of everything.
 */
export class KnowledgeClock {
  readonly writes = new OwnWrites();
  readonly #clock: Clock;
  #version = 0;
  #doubted = 0;
  /** What was read from this version on is followed by events. */
  #heardFrom = Number.POSITIVE_INFINITY;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get now(): number {
    return this.#clock.monotonic();
  }

  /** For `atLeast`: only what is read from now on has it. */
  next(): number {
    this.#version += 1;
    return this.#version;
  }

  /** For a call that begins now. */
  stamp(): ReadStamp {
    return { version: this.#version, at: this.now };
  }

  /** The version of the last doubt. */
  get doubted(): number {
    return this.#doubted;
  }

  /** Nothing that was read until now counts any more. */
  doubt(): void {
    this.#doubted = this.next();
  }

  /** From now on events tell of changes, or do not. */
  setHeard(isHeard: boolean): void {
    this.doubt();
    this.#heardFrom = isHeard ? this.#version : Number.POSITIVE_INFINITY;
  }

  /** True when nothing has changed since the read as far as is known, and it is new enough. */
  isValid(stamp: ReadStamp, { atLeast = 0, maxAgeSeconds }: ReadFreshness, written: number, isHeard: boolean): boolean {
    if (stamp.version < Math.max(atLeast, this.#doubted, written)) return false;
    const followed = isHeard && stamp.version >= this.#heardFrom;
    const maxAge = maxAgeSeconds ?? (followed ? heardSeconds : unheardSeconds);
    return this.now - stamp.at < maxAge * 1000;
  }
}
