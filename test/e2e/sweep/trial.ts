import { expect } from 'vitest';
import type { Call } from '../../world/switchboard.ts';
import type { Manner } from '../support/provider.ts';
import { leaks } from '../support/secrets.ts';
import { Stage } from '../support/stage.ts';
import { providerCalls } from '../support/traces.ts';
import type { Naming } from './naming.ts';
import { differencesOf, type Shape } from './shape.ts';
import { type Striker, Sweep } from './sweep.ts';

/** What a life without any strike was like. */
export interface Reference {
  readonly shape: Shape;
  readonly seen: ReadonlySet<string>;
  /** Of the provider, at the platform's API server. */
  readonly calls: readonly Call[];
}

/** What is lived: the life of a Cluster, or a part of one. Returns what there was at the end, or on the way. */
export interface Script {
  play(stage: Stage, sweep: Sweep, expected?: Shape): Promise<Shape>;
  readonly naming: () => Naming;
  /** Of the world's rooms; default: their own. */
  readonly seeds?: (subnet: string) => Readonly<Record<string, unknown>>;
}

interface TrialOptions {
  readonly subnet: string;
  /** Its release; default: that of a stage there. */
  readonly truenas?: string;
  readonly script: Script;
  readonly manner?: Manner;
  readonly striker?: (stage: Stage) => Striker;
}

/** With the usual Lease there is a renewal soon. */
const usual: Manner = { leaseSeconds: 15, isRevived: true };

/**
 * The built program, whose Lease lasts five seconds of ours, of which it may spend three on one renewal: among other tests the world is
 * two of them late at times.
 */
export const asProgram: Manner = { asProgram: { speed: 3 } };

interface Trial extends Reference {
  readonly sweep: Sweep;
  /** What the provider said that it should not: faults of its own, and secrets. */
  readonly offences: readonly string[];
}

/** One life on a stage of its own. */
async function tryLife(options: TrialOptions, expected?: Shape): Promise<Trial> {
  const { subnet, truenas, manner, striker: strikerFor, script } = options;
  const provider = { ...usual, ...manner };
  const seeds = script.seeds?.(subnet) ?? {};
  const stage = await Stage.open({ subnet, speed: 30, timeScale: 0.001, provider, seeds, ...(truenas && { truenas }) });
  const striker = strikerFor?.(stage);
  const sweep = new Sweep(stage, striker, script.naming());
  try {
    stage.provider.start();
    const shape = await script.play(stage, sweep, expected);
    const calls = providerCalls(stage.calls);
    return { shape, seen: sweep.seen, calls, sweep, offences: [...stage.faults(), ...leaks(stage)] };
  } finally {
    sweep.end();
    await striker?.settled?.();
    await stage.close();
  }
}

/** The life that others have to end like. */
export async function undisturbed(subnet: string, script: Script, truenas?: string): Promise<Reference> {
  return await tryLife({ subnet, script, ...(truenas && { truenas }) });
}

/** In words what went otherwise than without strikes; empty when nothing did. */
interface Verdict {
  /** Calls that were not struck though they should have been. */
  readonly missed: readonly string[];
  readonly offences: readonly string[];
  /** How many calls were struck. */
  readonly struck: number;
  readonly shape: Shape;
  /** For people: which strikes may be to blame. */
  readonly story: string;
}

/** Lives once more, struck at every call. `due`: the calls that must be among them; default: all of the reference. */
async function strikeEach(
  reference: Reference,
  options: TrialOptions & { readonly due?: (name: string) => boolean },
): Promise<Verdict> {
  const { due = () => true } = options;
  const { shape, sweep, offences } = await tryLife(options, reference.shape);
  const missed = sweep.missed([...reference.seen].filter(due));
  const struck = sweep.strikes.length;
  return { missed, offences, struck, shape, story: sweep.story(differencesOf(shape, reference.shape)) };
}

/** Lives once without any strike and once more struck at every call, and holds the one against the other. */
export async function expectSameEndAsAlone(options: Parameters<typeof strikeEach>[1]): Promise<void> {
  const { subnet, script, truenas } = options;
  await expectSameEnd(await undisturbed(subnet, script, truenas), options);
}

/** Lives once more, struck at every call, and holds it against the reference. Returns how many calls were struck. */
export async function expectSameEnd(reference: Reference, options: Parameters<typeof strikeEach>[1]): Promise<number> {
  const verdict = await strikeEach(reference, options);
  expect(verdict.shape, verdict.story).toEqual(reference.shape);
  expect(verdict.missed).toEqual([]);
  expect(verdict.offences).toEqual([]);
  return verdict.struck;
}
