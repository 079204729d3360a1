import { describe, expect, it } from 'vitest';
import { HardwareModel } from '../../../test/talos/hardware-model.ts';
import { config, Killed, NodeModel } from '../../../test/talos/node-model.ts';
import { desiredNode, UpdateRun } from '../../../test/talos/update-run.ts';
import { isUpdateOpen } from './update-steps.ts';

/** A node that is up to date but for its hardware. */
function startRun(desired = 'large') {
  const node = new NodeModel();
  node.leads = true;
  const hardware = new HardwareModel(node);
  hardware.desired = desired;
  const run = new UpdateRun({ node, hardware, role: 'controlplane' });
  run.desired = desiredNode({ talosVersion: '1.13.7', revision: desired });
  return { node, hardware, run };
}

describe('a change of the hardware', () => {
  it('D11: drains the node, moves leadership and address, and only then switches the machine off', async () => {
    const { node, hardware, run } = startRun();
    expect((await run.run()).kind).toBe('finished');
    expect(node.effects.filter((effect) => effect !== 'move')).toEqual([
      ...['drain', 'forfeit', 'off', 'change large', 'on', 'uncordon'],
    ]);
    expect(node.effects.lastIndexOf('move')).toBeLessThan(node.effects.indexOf('off'));
    expect([hardware.present, node.boot, run.isCordoned]).toEqual(['large', 2, false]);
    expect(isUpdateOpen({ plan: 'provision', facts: run.progress.facts })).toBe(false);
  });

  it('disturbs no node while the platform lacks the hardware, and takes a change back', async () => {
    const { node, hardware, run } = startRun();
    hardware.isShort = true;
    expect(await run.run()).toMatchObject({ kind: 'waiting', reason: 'InsufficientMemory' });
    expect(node.effects).toEqual([]);
    hardware.desired = 'small';
    run.desired = desiredNode({ talosVersion: '1.13.7', revision: 'small' });
    expect((await run.run()).kind).toBe('finished');
    expect(node.effects).toEqual([]);
  });

  it('shares one drain with an upgrade and a new configuration', async () => {
    const { node, run } = startRun();
    run.desired = desiredNode({ configuration: config('env: {a: b}') });
    expect((await run.run()).kind).toBe('finished');
    expect(node.effects.filter((effect) => effect === 'drain')).toHaveLength(1);
    expect([node.running.version, node.active]).toEqual(['1.13.9', run.desired.configuration]);
  });

  it('stops at a machine that boots anew with its former hardware', async () => {
    const { hardware, run } = startRun();
    const changed = hardware.capability.steps[1]!;
    changed.run = async () => ({ kind: 'done' });
    expect(await run.run()).toMatchObject({ kind: 'failed', reason: 'HardwareDiffers' });
  });

  it('ends well when the process is killed between any two calls', async () => {
    const undisturbed = startRun();
    await undisturbed.run.run();
    for (let calls = 0; calls < 60; calls += 1) {
      const { node, hardware, run } = startRun();
      node.callsLeft = calls;
      await run.run().catch((error: unknown) => {
        if (!(error instanceof Killed)) throw error;
      });
      node.callsLeft = Number.POSITIVE_INFINITY;
      expect((await run.run()).kind, `killed after ${calls} calls`).toBe('finished');
      expect([hardware.present, hardware.isOn, node.boot], `killed after ${calls} calls`).toEqual(['large', true, 2]);
      expect(run.isCordoned).toBe(false);
    }
  });

  it.each(Array.from({ length: 30 }, (_, i) => i))(
    'follows a size that goes back in the middle, after %s calls, also when the steps begin again',
    async (calls) => {
      const { node, hardware, run } = startRun();
      node.callsLeft = calls;
      await run.run().catch(() => undefined);
      node.callsLeft = Number.POSITIVE_INFINITY;
      hardware.desired = 'small';
      run.desired = desiredNode({ talosVersion: '1.13.7', revision: 'small' });
      // As after a repair in between, or when a user says retry.
      if (calls % 2 === 0) run.progress = { ...run.progress, plan: 'provision', step: '' };
      expect((await run.run()).kind).toBe('finished');
      expect([hardware.present, hardware.isOn, run.isCordoned]).toEqual(['small', true, false]);
    },
  );
});
