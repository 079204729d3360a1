import { describe, expect, it } from 'vitest';
import type { Clock } from '../../../lib/clock.ts';
import type { Dataset, FileStat, Vm } from '../api/schema.ts';
import { StepCache } from './step-cache.ts';

function scene() {
  let ms = 0;
  const clock: Clock = { now: () => new Date(ms), monotonic: () => ms, sleep: async () => {} };
  let quietSinceMs = Number.NEGATIVE_INFINITY;
  const cache = new StepCache(clock, () => quietSinceMs);
  cache.begin();
  const stir = () => {
    quietSinceMs = ms;
  };
  const pass = (seconds: number) => {
    ms += seconds * 1000;
  };
  return { handover: cache, pass, stir };
}

const dataset: Dataset = { id: 'tank/talos/one', type: 'FILESYSTEM' };
const file: FileStat = { type: 'FILE', size: 1, mtime: 0 };
const vm = { id: 1, name: 'one' } as Vm;

describe('the step cache', () => {
  it('knows what was found or missing, and nothing about other objects', () => {
    const { handover: cache } = scene();
    cache.noteDataset(dataset.id, dataset);
    cache.noteDataset('tank/talos/two', undefined);
    expect(cache.dataset(dataset.id)).toMatchObject({ found: dataset });
    expect(cache.dataset('tank/talos/two')).toMatchObject({ found: undefined });
    expect(cache.dataset('tank/talos/three')).toBeUndefined();
    expect(cache.takeVm()).toBeUndefined();
  });

  it('keeps an entry for a minute from the begin of the step that noted it, and passing it on does not extend that', () => {
    const { handover: cache, pass } = scene();
    pass(24);
    cache.noteDataset(dataset.id, dataset);
    pass(30);
    expect(cache.dataset(dataset.id)).toBeDefined();
    cache.begin();
    pass(6);
    expect(cache.dataset(dataset.id)).toBeUndefined();
    cache.noteVm(vm);
    pass(60);
    expect(cache.takeVm()).toBeUndefined();
  });

  it('gives a virtual machine to one step only, which may change it', () => {
    const { handover: cache } = scene();
    cache.noteVm(vm);
    expect([cache.takeVm()?.found, cache.takeVm()]).toEqual([vm, undefined]);
    cache.noteVm(undefined);
    expect(cache.takeVm()).toMatchObject({ found: undefined });
  });

  it('knows that a new or missing dataset has no content', () => {
    const { handover: cache, pass } = scene();
    const disk = `${dataset.id}/boot`;
    cache.noteDataset(dataset.id, dataset);
    expect(cache.dataset(disk)).toBeUndefined();
    cache.noteDataset(dataset.id, undefined);
    expect(cache.dataset(disk)).toMatchObject({ found: undefined });
    cache.forgetDataset(dataset.id);
    expect(cache.dataset(disk)).toBeUndefined();
    cache.noteNewDataset(dataset.id, dataset);
    expect([cache.dataset(dataset.id)?.found, cache.dataset(disk)]).toEqual([dataset, { found: undefined }]);
    expect(cache.dataset(`${dataset.id}_2`)).toBeUndefined();
    cache.noteNewDataset(disk, { id: disk, type: 'VOLUME' });
    expect(cache.dataset(disk)?.found).toBeDefined();
    pass(60);
    expect(cache.dataset(disk)).toBeUndefined();
  });

  it('keeps the age of a machine that is put back', () => {
    const { handover: cache, pass } = scene();
    cache.noteVm(vm);
    pass(30);
    cache.begin();
    const changed = { ...vm, memory: 2 };
    expect(cache.takeVm()?.found).toBe(vm);
    cache.returnVm(changed);
    pass(29);
    cache.begin();
    expect(cache.takeVm()?.found).toBe(changed);
    cache.returnVm(changed);
    pass(1);
    expect(cache.takeVm()).toBeUndefined();
    // This step has read the machine again.
    cache.returnVm(vm);
    pass(58);
    expect(cache.takeVm()?.found).toBe(vm);
  });

  it('expires when another client has changed something, or could have', () => {
    const { handover: cache, pass, stir } = scene();
    const note = () => {
      cache.noteDataset(dataset.id, dataset);
      cache.noteFile('/mnt/a', file);
      cache.noteVm(vm);
    };
    const known = () => [cache.dataset(dataset.id), cache.file('/mnt/a'), cache.takeVm()].filter(Boolean).length;
    note();
    expect(known()).toBe(3);
    pass(1);
    stir();
    note();
    // The step began before the change.
    expect(known()).toBe(0);
    pass(1);
    cache.begin();
    note();
    expect(known()).toBe(3);
  });
});
