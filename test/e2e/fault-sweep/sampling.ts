import { createHash, randomInt } from 'node:crypto';
import { trueNasReleases } from '../../support/fixtures/truenas-releases.ts';
import { requestedTrueNasRelease } from '../support/testbed/truenas-release.ts';
import type { FaultInjector } from './fault-sweep.ts';

const sweepVariable = process.env['SWEEP'];

/** `SWEEP=full`: every call in every way, which takes most of an hour. */
export const isFullSweep = sweepVariable === 'full';

/** What decides about everything that is drawn. Failures name it, and `SWEEP=<number>` draws the same again. */
export const sweepSeed = sweepVariable === undefined || isFullSweep ? randomInt(1_000_000) : Number(sweepVariable);

const hashNumber = (what: string): number =>
  createHash('sha256').update(`${sweepSeed} ${what}`).digest().readUInt32BE();

/** The release of TrueNAS for a life: of three that have numbers in a row each has another, whatever is drawn. */
export const trueNasReleaseForRun = (life: number): string =>
  requestedTrueNasRelease ??
  trueNasReleases[(hashNumber('release') + life) % trueNasReleases.length] ??
  trueNasReleases[0];

/** Numbers below `below`, one after the other, as far as the order in which they are asked for is the same. */
export const randomNumbers = (what: string): ((below: number) => number) => {
  let count = 0;
  return (below) => {
    count += 1;
    return hashNumber(`${what} ${count}`) % below;
  };
};

/** Which of so many parts a call is in: each is in one. */
export const partIndexOf = (way: string, name: string, parts: number): number => hashNumber(`${way} ${name}`) % parts;

/** Whether a call is among those that are struck: one of `share`. */
export const isSampled = (way: string, name: string, share: number): boolean =>
  isFullSweep || partIndexOf(way, name, share) === 0;

/** Strikes each call in one of many ways. Of so many rounds as there are ways, each strikes it in another. */
export const rotateInjectors = (ways: readonly FaultInjector[], round: number): FaultInjector => ({
  strike: (call, name) => ways[(hashNumber(name) + round) % ways.length]?.strike(call, name),
});
