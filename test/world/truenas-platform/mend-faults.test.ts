import { describe, expect, it } from 'vitest';
import { isFull, oneOf, seed } from '../../e2e/sweep/draw.ts';
import { quickFaults } from '../../e2e/sweep/faults.ts';
import type { Call, Fault } from '../switchboard.ts';
import { Keeping, member } from './keeping.ts';
import { versions } from './rehearsal.ts';
import { Process, room, shape, start, text, useScene, vmOf } from './scene.ts';

useScene();

const nameOf = () => String(vmOf('shop-cp-0')!.row['name']);
const losses: [string, string, () => unknown][] = [
  ['a card', 'DeviceMissing', () => room.room.loseDevice(nameOf(), ({ dtype }) => dtype === 'NIC')],
  ['all but the disk', 'VmGone', () => room.room.loseVm(nameOf())],
];

/** A call to the system that is not made when it is time for it. */
const counts = ({ room: where, name }: Call) => where === 'truenas' && !/^core\.(ping|get_jobs)$/.test(name);

/** From now on something befalls the call of that number, and no other. Returns how to stop. */
function atCall(nth: number, befall: (call: Call) => Fault | undefined): () => void {
  let seen = 0;
  return room.switchboard.judge((call) => (counts(call) && seen++ === nth ? befall(call) : undefined));
}

describe.each(versions.map((version, round) => ({ version, round })))(
  `on TrueNAS $version (SWEEP=${seed})`,
  ({ version, round }) => {
    /** Each call is on one of the three releases. */
    const drawn = (names: readonly string[]) =>
      names.map((name, at) => ({ name, at })).filter(({ at }) => isFull || (at + seed + round) % versions.length === 0);

    /** A member that lacks nothing which this has lost before, and the calls that putting it right takes. */
    async function rehearse(mend: string, lose: () => unknown) {
      await start({ version });
      const kept = new Keeping(await member());
      const once = async () => {
        await lose();
        kept.wish({ mend });
        expect(await kept.rest()).toMatchObject({ reasons: [] });
      };
      await once();
      const made = text(shape());
      kept.process = new Process();
      const calls: string[] = [];
      const hush = room.switchboard.onCall((call) => void (counts(call) && calls.push(call.name)));
      await once();
      hush();
      expect(text(shape())).toBe(made);
      return { kept, made, calls };
    }

    it.each(losses)(
      'T42, S29: killed at a call while %s is put back, it comes to the same end',
      async (_, mend, lose) => {
        const { kept, made, calls } = await rehearse(mend, lose);
        for (const { name, at } of drawn(calls)) {
          await lose();
          kept.wish({ mend });
          kept.process = new Process();
          const dying = kept.process;
          const hush = atCall(at, () => {
            void dying.kill();
            return undefined;
          });
          await kept.rest().catch((error: unknown) => {
            if (!dying.stop.signal.aborted) throw error;
          });
          hush();
          kept.process = new Process();
          const where = `killed at call ${at} (${name})`;
          expect(await kept.rest(), where).toMatchObject({ reasons: [] });
          expect(text(shape()), where).toBe(made);
          expect(vmOf('shop-cp-0')?.guest, where).toBeDefined();
        }
      },
      180_000,
    );

    it.each(losses)(
      'T42, S52: struck at a call while %s is put back, it comes to the same end',
      async (_, mend, lose) => {
        const { kept, made, calls } = await rehearse(mend, lose);
        for (const { name, at } of drawn(calls)) {
          await lose();
          kept.wish({ mend });
          kept.process = new Process();
          const words = `truenas ${name}, number ${at} of ${mend}`;
          const hush = atCall(at, (call) => oneOf(Object.values(quickFaults), round).strike(call, words));
          expect(await kept.rest(), words).toMatchObject({ reasons: [] });
          hush();
          expect(text(shape()), words).toBe(made);
          expect(vmOf('shop-cp-0')?.guest, words).toBeDefined();
        }
      },
      180_000,
    );
  },
);
