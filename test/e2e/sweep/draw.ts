import { createHash, randomInt } from 'node:crypto';
import type { Striker } from './sweep.ts';

const wish = process.env['SWEEP'];

/** `SWEEP=full`: every call in every way, which takes most of an hour. */
export const isFull = wish === 'full';

/** What decides about everything that is drawn. Failures name it, and `SWEEP=<number>` draws the same again. */
export const seed = wish === undefined || isFull ? randomInt(1_000_000) : Number(wish);

const lot = (what: string): number => createHash('sha256').update(`${seed} ${what}`).digest().readUInt32BE();

/** Whether a call is among those that are struck: one of `share`. */
export const isDrawn = (way: string, name: string, share: number): boolean =>
  isFull || lot(`${way} ${name}`) % share === 0;

/** Strikes each call in one of many ways. Of so many rounds as there are ways, each strikes it in another. */
export const oneOf = (ways: readonly Striker[], round: number): Striker => ({
  strike: (call, name) => ways[(lot(name) + round) % ways.length]?.strike(call, name),
});
