import { describe, expect, it } from 'vitest';
import type { Clock } from '../../lib/clock.ts';
import { Handover } from './handover.ts';
import type { Dataset, Vm } from './schema.ts';

function scene() {
  let ms = 0;
  const clock: Clock = { now: () => new Date(ms), monotonic: () => ms, sleep: async () => {} };
  const handover = new Handover(clock);
  handover.begin();
  const pass = (seconds: number) => {
    ms += seconds * 1000;
  };
  return { handover, pass };
}

const dataset: Dataset = { id: 'tank/talos/one', type: 'FILESYSTEM' };
const vm = { id: 1, name: 'one' } as Vm;

describe('what a step hands over', () => {
  it('is what was found, or that there was nothing, and not what nobody asked for', () => {
    const { handover } = scene();
    handover.noteDataset(dataset.id, dataset);
    handover.noteDataset('tank/talos/two', undefined);
    expect(handover.dataset(dataset.id)).toMatchObject({ found: dataset });
    expect(handover.dataset('tank/talos/two')).toMatchObject({ found: undefined });
    expect(handover.dataset('tank/talos/three')).toBeUndefined();
    expect(handover.takeVm()).toBeUndefined();
  });

  it('is known for a minute from the beginning of the step that noted it, and not for longer by being handed on', () => {
    const { handover, pass } = scene();
    pass(24);
    handover.noteDataset(dataset.id, dataset);
    pass(30);
    expect(handover.dataset(dataset.id)).toBeDefined();
    handover.begin();
    pass(6);
    expect(handover.dataset(dataset.id)).toBeUndefined();
    handover.noteVm(vm);
    pass(60);
    expect(handover.takeVm()).toBeUndefined();
  });

  it('gives a virtual machine to one step alone, which may change it', () => {
    const { handover } = scene();
    handover.noteVm(vm);
    expect([handover.takeVm()?.found, handover.takeVm()]).toEqual([vm, undefined]);
    handover.noteVm(undefined);
    expect(handover.takeVm()).toMatchObject({ found: undefined });
  });
});
