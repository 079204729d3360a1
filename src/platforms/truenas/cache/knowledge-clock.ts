import type { Clock } from '../../../lib/clock.ts';
import { OwnWrites } from './own-writes.ts';
import type { ReadStamp } from './read-stamp.ts';

/**
 * Maximum age of state whose changes cause events, in case one is lost. The answer to a step serves the following steps
 * for so long: on a busy system a single call takes half of it.
 */
export const maxAgeWithEventsSeconds = 45;
/**
 * Maximum age without events: of pools and files, which have none, of everything while nothing is subscribed to, and of
 * observations.
 */
export const maxAgeWithoutEventsSeconds = 15;

/** The requirements of a reader. By default any valid state suffices. */
export interface ReadFreshness {
  /** The read must have begun at this version or later. */
  readonly atLeast?: number;
  readonly maxAgeSeconds?: number;
}

/**
 * The versions of the known state of one system. A change of ours raises the version and outdates earlier reads of the
 * changed object; a doubt outdates all earlier reads.
 */
export class KnowledgeClock {
  readonly writes = new OwnWrites();
  readonly #clock: Clock;
  #version = 0;
  #outdatedAt = 0;
  /** Events have followed all reads from this version on. */
  #followedFrom = Number.POSITIVE_INFINITY;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get now(): number {
    return this.#clock.monotonic();
  }

  /** A new version for `atLeast`: only later reads have it. */
  next(): number {
    this.#version += 1;
    return this.#version;
  }

  /** The stamp of a call that begins now. */
  stamp(): ReadStamp {
    return { version: this.#version, at: this.now };
  }

  /** The version of the last doubt. */
  get outdatedAt(): number {
    return this.#outdatedAt;
  }

  /** Outdates all reads until now. */
  outdateAll(): void {
    this.#outdatedAt = this.next();
  }

  /** Events begin or end to follow reads. */
  setEventsFollow(hasEvents: boolean): void {
    this.outdateAll();
    this.#followedFrom = hasEvents ? this.#version : Number.POSITIVE_INFINITY;
  }

  /** True when nothing has changed since the read as far as is known, and it is new enough. */
  isValid(
    stamp: ReadStamp,
    { atLeast = 0, maxAgeSeconds }: ReadFreshness,
    written: number,
    hasEvents: boolean,
  ): boolean {
    if (stamp.version < Math.max(atLeast, this.#outdatedAt, written)) return false;
    const followed = hasEvents && stamp.version >= this.#followedFrom;
    const maxAge = maxAgeSeconds ?? (followed ? maxAgeWithEventsSeconds : maxAgeWithoutEventsSeconds);
    return this.now - stamp.at < maxAge * 1000;
  }
}
