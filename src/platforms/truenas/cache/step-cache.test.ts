import { describe, expect, it } from 'vitest';
import type { Clock } from '../../../lib/clock.ts';
import type { Dataset, FileStat, Vm } from '../api/schema.ts';
import { StepCache } from './step-cache.ts';

function scene() {
  let ms = 0;
  const clock: Clock = { now: () => new Date(ms), monotonic: () => ms, sleep: async () => {} };
  let quietSinceMs = Number.NEGATIVE_INFINITY;
  const handover = new StepCache(clock, () => quietSinceMs);
  handover.begin();
  const stir = () => {
    quietSinceMs = ms;
  };
  const pass = (seconds: number) => {
    ms += seconds * 1000;
  };
  return { handover, pass, stir };
}

const dataset: Dataset = { id: 'tank/talos/one', type: 'FILESYSTEM' };
const file: FileStat = { type: 'FILE', size: 1, mtime: 0 };
const vm = { id: 1, name: 'one' } as Vm;

describe('the step cache', () => {
  it('knows what was found or missing, and nothing about other objects', () => {
    const { handover } = scene();
    handover.noteDataset(dataset.id, dataset);
    handover.noteDataset('tank/talos/two', undefined);
    expect(handover.dataset(dataset.id)).toMatchObject({ found: dataset });
    expect(handover.dataset('tank/talos/two')).toMatchObject({ found: undefined });
    expect(handover.dataset('tank/talos/three')).toBeUndefined();
    expect(handover.takeVm()).toBeUndefined();
  });

  it('keeps an entry for a minute from the begin of the step that noted it, and passing it on does not extend that', () => {
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

  it('gives a virtual machine to one step only, which may change it', () => {
    const { handover } = scene();
    handover.noteVm(vm);
    expect([handover.takeVm()?.found, handover.takeVm()]).toEqual([vm, undefined]);
    handover.noteVm(undefined);
    expect(handover.takeVm()).toMatchObject({ found: undefined });
  });

  it('knows that a new or missing dataset has no content', () => {
    const { handover, pass } = scene();
    const disk = `${dataset.id}/boot`;
    handover.noteDataset(dataset.id, dataset);
    expect(handover.dataset(disk)).toBeUndefined();
    handover.noteDataset(dataset.id, undefined);
    expect(handover.dataset(disk)).toMatchObject({ found: undefined });
    handover.forgetDataset(dataset.id);
    expect(handover.dataset(disk)).toBeUndefined();
    handover.noteNewDataset(dataset.id, dataset);
    expect([handover.dataset(dataset.id)?.found, handover.dataset(disk)]).toEqual([dataset, { found: undefined }]);
    expect(handover.dataset(`${dataset.id}_2`)).toBeUndefined();
    handover.noteNewDataset(disk, { id: disk, type: 'VOLUME' });
    expect(handover.dataset(disk)?.found).toBeDefined();
    pass(60);
    expect(handover.dataset(disk)).toBeUndefined();
  });

  it('keeps the age of a machine that is put back', () => {
    const { handover, pass } = scene();
    handover.noteVm(vm);
    pass(30);
    handover.begin();
    const changed = { ...vm, memory: 2 };
    expect(handover.takeVm()?.found).toBe(vm);
    handover.giveVmBack(changed);
    pass(29);
    handover.begin();
    expect(handover.takeVm()?.found).toBe(changed);
    handover.giveVmBack(changed);
    pass(1);
    expect(handover.takeVm()).toBeUndefined();
    // This step has read the machine again.
    handover.giveVmBack(vm);
    pass(58);
    expect(handover.takeVm()?.found).toBe(vm);
  });

  it('expires when another client has changed something, or could have', () => {
    const { handover, pass, stir } = scene();
    const note = () => {
      handover.noteDataset(dataset.id, dataset);
      handover.noteFile('/mnt/a', file);
      handover.noteVm(vm);
    };
    const known = () =>
      [handover.dataset(dataset.id), handover.file('/mnt/a'), handover.takeVm()].filter(Boolean).length;
    note();
    expect(known()).toBe(3);
    pass(1);
    stir();
    note();
    // The step began before the change.
    expect(known()).toBe(0);
    pass(1);
    handover.begin();
    note();
    expect(known()).toBe(3);
  });
});
