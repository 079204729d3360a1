import { createHash, randomInt } from 'node:crypto';
import { releases } from '../../support/releases.ts';
import { wishedRelease } from '../support/release.ts';
import type { Striker } from './sweep.ts';

const wish = process.env['SWEEP'];

/** `SWEEP=full`: every call in every way, which takes most of an hour. */
export const isFull = wish === 'full';

/** What decides about everything that is drawn. Failures name it, and `SWEEP=<number>` draws the same again. */
export const seed = wish === undefined || isFull ? randomInt(1_000_000) : Number(wish);

const lot = (what: string): number => createHash('sha256').update(`${seed} ${what}`).digest().readUInt32BE();

/** The release of TrueNAS for a life: of three that have numbers in a row each has another, whatever is drawn. */
export const releaseFor = (life: number): string =>
  wishedRelease ?? releases[(lot('release') + life) % releases.length] ?? releases[0];

/** Numbers below `below`, one after the other, as far as the order in which they are asked for is the same. */
export const lots = (what: string): ((below: number) => number) => {
  let count = 0;
  return (below) => {
    count += 1;
    return lot(`${what} ${count}`) % below;
  };
};

/** Which of so many parts a call is in: each is in one. */
export const partOf = (way: string, name: string, parts: number): number => lot(`${way} ${name}`) % parts;

/** Whether a call is among those that are struck: one of `share`. */
export const isDrawn = (way: string, name: string, share: number): boolean => isFull || partOf(way, name, share) === 0;

/** Strikes each call in one of many ways. Of so many rounds as there are ways, each strikes it in another. */
export const oneOf = (ways: readonly Striker[], round: number): Striker => ({
  strike: (call, name) => ways[(lot(name) + round) % ways.length]?.strike(call, name),
});
