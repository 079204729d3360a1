import { createHash } from 'node:crypto';
import { commitSeed } from '../../support/commit-seed.ts';
import { trueNasReleases } from '../../support/fixtures/truenas-releases.ts';
import { requestedTrueNasRelease } from '../support/testbed/truenas-release.ts';
import type { FaultInjector } from './fault-sweep.ts';

const sweepVariable = process.env['SWEEP'];

/** `SWEEP=full`: every call with every fault, which takes most of an hour. */
export const isFullSweep = sweepVariable === 'full';

/** Seed of all random choices. Failures name it, and `SWEEP=<number>` repeats them. */
export const sweepSeed = sweepVariable === undefined || isFullSweep ? commitSeed % 1_000_000 : Number(sweepVariable);

const hashNumber = (what: string): number =>
  createHash('sha256').update(`${sweepSeed} ${what}`).digest().readUInt32BE();

/**
 * The release of TrueNAS for a run: three runs with consecutive numbers have three different releases, whatever the
 * seed.
 */
export const trueNasReleaseForRun = (life: number): string =>
  requestedTrueNasRelease ??
  trueNasReleases[(hashNumber('release') + life) % trueNasReleases.length] ??
  trueNasReleases[0];

/** Random numbers below `below`, one after the other. They are repeatable for the same order of calls. */
export const randomNumbers = (what: string): ((below: number) => number) => {
  let count = 0;
  return (below) => {
    count += 1;
    return hashNumber(`${what} ${count}`) % below;
  };
};

/** The index of the part that a call belongs to; each call belongs to one. */
export const partIndexOf = (way: string, name: string, parts: number): number => hashNumber(`${way} ${name}`) % parts;

/** Whether a call gets a fault: one in `share` does. */
export const isSampled = (way: string, name: string, share: number): boolean =>
  isFullSweep || partIndexOf(way, name, share) === 0;

/**
 * Injects one of several faults into each call. Over as many rounds as there are faults, each call gets each of them.
 */
export const rotateInjectors = (ways: readonly FaultInjector[], round: number): FaultInjector => ({
  strike: (call, name) => ways[(hashNumber(name) + round) % ways.length]?.strike(call, name),
});
