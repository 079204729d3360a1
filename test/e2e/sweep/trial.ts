import type { Call } from '../../world/switchboard.ts';
import type { Manner } from '../support/provider.ts';
import { leaks } from '../support/secrets.ts';
import { Stage } from '../support/stage.ts';
import { providerCalls } from '../support/traces.ts';
import { live } from './life.ts';
import { differencesOf, type Shape } from './shape.ts';
import { type Striker, Sweep } from './sweep.ts';

/** What a life without any strike was like. */
export interface Reference {
  readonly shape: Shape;
  readonly seen: ReadonlySet<string>;
  /** Of the provider, at the platform's API server. */
  readonly calls: readonly Call[];
}

interface TrialOptions {
  readonly subnet: string;
  readonly manner?: Manner;
  readonly striker?: (stage: Stage) => Striker;
}

/** With the usual Lease there is a renewal soon. */
const usual: Manner = { leaseSeconds: 15, isRevived: true };

interface Trial extends Reference {
  readonly sweep: Sweep;
  /** What the provider said that it should not: faults of its own, and secrets. */
  readonly offences: readonly string[];
}

/** One whole life on a stage of its own. */
async function tryLife({ subnet, manner, striker: strikerFor }: TrialOptions, expected?: Shape): Promise<Trial> {
  const provider = { ...usual, ...manner };
  const stage = await Stage.open({ subnet, speed: 30, timeScale: 0.001, provider });
  const striker = strikerFor?.(stage);
  const sweep = new Sweep(stage, striker);
  try {
    stage.provider.start();
    const shape = await live(stage, sweep, expected);
    const calls = providerCalls(stage.calls);
    return { shape, seen: sweep.seen, calls, sweep, offences: [...stage.faults(), ...leaks(stage)] };
  } finally {
    sweep.end();
    await striker?.settled?.();
    await stage.close();
  }
}

/** The life that others have to end like. */
export async function undisturbed(subnet: string): Promise<Reference> {
  return await tryLife({ subnet });
}

/** In words what went otherwise than without strikes; empty when nothing did. */
export interface Verdict {
  /** Calls that were not struck though they should have been. */
  readonly missed: readonly string[];
  readonly offences: readonly string[];
  readonly shape: Shape;
  /** For people: which strikes may be to blame. */
  readonly story: string;
}

/** Lives once more, struck at every call. `due`: the calls that must be among them; default: all of the reference. */
export async function strikeEach(
  reference: Reference,
  options: TrialOptions & { readonly due?: (name: string) => boolean },
): Promise<Verdict> {
  const { due = () => true } = options;
  const { shape, sweep, offences } = await tryLife(options, reference.shape);
  const missed = sweep.missed([...reference.seen].filter(due));
  return { missed, offences, shape, story: sweep.story(differencesOf(shape, reference.shape)) };
}
