import { describe, expect, it } from 'vitest';
import { annotations } from '../../../src/api/names.ts';
import { recoverWhileWaiting } from '../../../src/controllers/machine/repair/recover-while-waiting.ts';
import { advance } from '../../../src/engine/advance.ts';
import { done, type Step, wait } from '../../../src/engine/step.ts';
import { ProviderError } from '../../../src/lib/errors.ts';
import { truenas } from '../../../src/platforms/truenas/index.ts';
import type { TalosStepContext } from '../../../src/talos/join-steps.ts';
import { testedReleases } from './baseline-run.ts';
import {
  changingCallPattern,
  fixtureClock,
  type MachineRecord,
  nasFixture,
  startTrueNasPlatformFixture,
  stateSummary,
  TrueNasProviderProcess,
  toJsonText,
  useTrueNasPlatformFixture,
  vmOf,
} from './true-nas-platform-fixture.ts';

useTrueNasPlatformFixture();

type Machine = Parameters<typeof recoverWhileWaiting>[1];
const machineWith = (notes: Record<string, string>) =>
  ({ metadata: { name: 'shop-cp-0', annotations: notes } }) as Machine;

interface RecoveryOptions {
  readonly notes?: Record<string, string>;
  /** Runs between two reconciles. */
  between?(): Promise<void>;
}

/** Runs the steps of a machine whose node is up when `isUp` returns true, until it is. */
async function provisionWhileWaiting(
  process: TrueNasProviderProcess,
  durable: MachineRecord,
  isUp: () => boolean,
  { notes = {}, between }: RecoveryOptions = {},
) {
  const node: Step<TalosStepContext> = {
    name: 'await-talos-api',
    run: async () => (isUp() ? done() : wait(3, 'The node does not answer yet.')),
  };
  const steps = [...truenas.provision, recoverWhileWaiting(node, machineWith(notes), truenas)];
  for (let round = 0; round < 200; round += 1) {
    const verdict = await advance<TalosStepContext>({
      ...{ plan: 'provision', steps, progress: durable.progress, clock: fixtureClock, signal: process.stop.signal },
      context: (facts) => process.context('shop-cp-0', facts) as TalosStepContext,
      save: async (progress) => {
        durable.progress = structuredClone(progress);
      },
    });
    if (verdict.kind === 'finished' || verdict.kind === 'failed') return verdict;
    if (verdict.kind === 'error' && !(verdict.error instanceof ProviderError)) throw verdict.error;
    await between?.();
    await fixtureClock.sleep(3000);
  }
  throw new Error('it does not get through');
}

const call = async (method: string, ...params: unknown[]) => (await nasFixture.login()).call(method, ...params);
const destroy = ({ progress }: MachineRecord) =>
  call('pool.dataset.delete', progress?.facts['dataset'], { recursive: true });
const started = () => nasFixture.runner.started.length;

describe.each(testedReleases)('a machine that waits to join, on TrueNAS %s', (version) => {
  it.each<[string, (name: string, durable: MachineRecord) => Promise<unknown>, object]>([
    ['without its virtual machine is created again', (name) => nasFixture.simulator.loseVm(name), { returns: 1 }],
    [
      'without any of its objects is created again',
      async (name, durable) => [await nasFixture.simulator.loseVm(name), await destroy(durable)],
      { returns: 1 },
    ],
    ['that was switched off is started again', (name) => nasFixture.simulator.powerOff(name), {}],
  ])('T42, T43: and %s', async (_, breakIt, facts) => {
    await startTrueNasPlatformFixture({ version });
    const durable: MachineRecord = { progress: undefined };
    const process = new TrueNasProviderProcess();
    let before = '';
    const between = async () => {
      if (before !== '' || durable.progress?.step !== 'await-talos-api') return;
      before = toJsonText(stateSummary());
      await breakIt(String(durable.progress.facts['vm']), durable);
    };
    expect(await provisionWhileWaiting(process, durable, () => started() > 1, { between })).toMatchObject({
      kind: 'finished',
      progress: { facts },
    });
    expect(toJsonText(stateSummary())).toBe(before);
    expect(vmOf('shop-cp-0')?.guest).toBeDefined();
  });
});

it.each(testedReleases)(
  'a machine on TrueNAS %s that loses power is off, and returns to its start step',
  async (version) => {
    await startTrueNasPlatformFixture({ version });
    const durable: MachineRecord = { progress: undefined };
    const process = new TrueNasProviderProcess();
    await process.walk('provision', 'shop-cp-0', durable);
    const context = () => process.context('shop-cp-0', durable.progress?.facts ?? {});
    expect(await truenas.repair?.cutPower?.(context())).toMatchObject({ kind: 'back', to: 'powered-on' });
    expect(vmOf('shop-cp-0')?.guest).toBeUndefined();
    expect(await truenas.repair?.cutPower?.(context())).toBeUndefined();
  },
);

it('T43: a machine that waits to join stays off in maintenance', async () => {
  await startTrueNasPlatformFixture();
  const durable: MachineRecord = { progress: undefined };
  const process = new TrueNasProviderProcess();
  await process.walk('provision', 'shop-cp-0', durable);
  durable.progress = { ...durable.progress!, step: 'await-talos-api' };
  const { finishedAt: _, ...rest } = durable.progress;
  durable.progress = rest;
  await nasFixture.simulator.powerOff(String(rest.facts['vm']));
  nasFixture.switchboard.calls.length = 0;
  let looks = 0;
  const isUp = () => {
    looks += 1;
    return looks > 20;
  };
  await provisionWhileWaiting(process, durable, isUp, { notes: { [annotations.maintenance]: 'true' } });
  expect(nasFixture.switchboard.calls.filter(({ name }) => changingCallPattern.test(name))).toEqual([]);
});
