import { describe, expect, it } from 'vitest';
import { Mortal } from '../../e2e/support/mortal.ts';
import { isFull, oneOf, seed } from '../../e2e/sweep/draw.ts';
import { quickFaults, silence } from '../../e2e/sweep/faults.ts';
import type { Fault } from '../switchboard.ts';
import { join, type Rehearsal, rehearse, versions } from './rehearsal.ts';
import { type Durable, dump, Process, room, shape, text, useScene } from './scene.ts';

useScene();

/** One call of a life. */
interface Target {
  readonly plan: 'provision' | 'release';
  readonly name: string;
  /** How many calls of that name come before it. */
  readonly nth: number;
}

const targetsOf = (rehearsal: Rehearsal): readonly Target[] =>
  (['provision', 'release'] as const).flatMap((plan) =>
    rehearsal[plan].map((name, index, all) => ({
      ...{ plan, name },
      nth: all.slice(0, index).filter((one) => one === name).length,
    })),
  );

const wordsOf = ({ plan, name, nth }: Target) => `truenas ${name}, number ${nth} of ${plan}`;

const ways = [...Object.values(quickFaults), silence.striker];
const faultOf = (target: Target, round: number): Fault | undefined =>
  oneOf(ways, round).strike({ room: 'truenas', name: target.name, at: new Date() }, wordsOf(target));

/** Strikes that call, once. Says whether it came to that. */
function strike({ name, nth }: Target, fault: Fault): () => boolean {
  let seen = 0;
  const hush = room.switchboard.judge((call) => {
    if (call.room !== 'truenas' || call.name !== name) return undefined;
    seen += 1;
    return seen === nth + 1 ? fault : undefined;
  });
  return () => {
    hush();
    return seen > nth;
  };
}

/** A life, one call of which is struck. */
async function live(target: Target, fault: Fault, { made, empty }: Rehearsal, where: string): Promise<void> {
  const durable: Durable = { progress: undefined };
  const walk = async (plan: Target['plan']) => {
    const process = new Process();
    const wasStruck = plan === target.plan ? strike(target, fault) : () => true;
    expect(await process.walk(plan, 'shop-cp-0', durable), where).toMatchObject({ kind: 'finished' });
    expect(wasStruck(), where).toBe(true);
    await process.kill();
  };
  // A silence is longer than anybody waits.
  await new Mortal(fault.kind === 'silence' ? silence.haste : 1).live(async () => {
    await walk('provision');
    expect(text(shape()), where).toBe(made);
    join(durable);
    await walk('release');
    expect(text(dump()), where).toBe(empty);
  });
}

describe.each(versions.map((version, round) => ({ version, round })))(
  `on TrueNAS $version (SWEEP=${seed})`,
  ({ version, round }) => {
    it('S52: each call struck once, by a fault that is drawn, comes to the same end: nothing doubled, nothing left', async () => {
      const rehearsal = await rehearse(version, { joins: true });
      for (const target of targetsOf(rehearsal)) {
        for (const way of isFull ? ways.keys() : [round]) {
          const fault = faultOf(target, way);
          if (fault) await live(target, fault, rehearsal, `${JSON.stringify(fault)} at ${wordsOf(target)}`);
        }
      }
    }, 600_000);
  },
);
