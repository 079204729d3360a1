import { describe, expect, it } from 'vitest';
import { config, Killed, plain } from '../../../test/talos/node-model.ts';
import { desiredNode, UpdateRun } from '../../../test/talos/update-run.ts';
import { targetOf, updateFacts } from './update-context.ts';
import { isUpdateOpen, updateStepsOf } from './update-steps.ts';

describe('the steps of an update', () => {
  it('have stable names, which are stored, and none erases', () => {
    expect(updateStepsOf(undefined).map(({ name }) => name)).toEqual([
      ...['changes-assessed', 'images-pulled', 'node-drained', 'etcd-leadership-moved', 'virtual-address-moved'],
      ...['system-upgraded', 'system-rebooted', 'system-proven'],
      ...['configuration-applied', 'configuration-active', 'node-healthy', 'node-uncordoned'],
    ]);
    expect(updateStepsOf(undefined).filter(({ erases }) => erases)).toEqual([]);
  });

  it('D24: upgrade by the lifecycle service: pulled, drained, written, restarted, proven', async () => {
    const machine = new UpdateRun();
    expect((await machine.run()).kind).toBe('finished');
    expect(machine.node.running.version).toBe('1.13.9');
    expect(machine.node.effects).toEqual(['pull', 'drain', 'pull', 'write 1.13.9', 'reboot', 'uncordon']);
    expect(isUpdateOpen({ plan: 'provision', facts: machine.progress.facts })).toBe(false);
  });

  it('D21: upgrade Talos 1.12 by its one call', async () => {
    const machine = new UpdateRun();
    machine.node.running = { version: '1.12.11', schematic: 'aaaa' };
    expect((await machine.run()).kind).toBe('finished');
    expect(machine.node.running.version).toBe('1.13.9');
    expect(machine.node.effects).toEqual(['pull', 'drain', 'legacy 1.13.9', 'uncordon']);
  });

  it('D27: upgrade for another schematic alone', async () => {
    const machine = new UpdateRun();
    machine.desired = desiredNode({ talosVersion: '1.13.7', schematic: 'bbbb' });
    expect((await machine.run()).kind).toBe('finished');
    expect(machine.node.running).toEqual({ version: '1.13.7', schematic: 'bbbb' });
  });

  it('D23: move the leadership of etcd away from a control plane that restarts', async () => {
    const machine = new UpdateRun({ role: 'controlplane' });
    machine.node.leads = true;
    expect((await machine.run()).kind).toBe('finished');
    const { effects } = machine.node;
    expect(effects.indexOf('forfeit')).toBeGreaterThan(effects.indexOf('drain'));
    expect(effects.indexOf('forfeit')).toBeLessThan(effects.indexOf('write 1.13.9'));
  });

  it('let another control plane take the virtual address before an API server restarts, and only then', async () => {
    const upgraded = new UpdateRun({ role: 'controlplane' });
    expect((await upgraded.run()).kind).toBe('finished');
    const { effects } = upgraded.node;
    expect(effects.filter((effect) => effect === 'move')).toHaveLength(2);
    expect(effects.lastIndexOf('move')).toBeLessThan(effects.indexOf('write 1.13.9'));
    const relabeled = new UpdateRun({ role: 'controlplane' });
    const configuration = config('nodeLabels: {disk: fast}');
    relabeled.desired = desiredNode({ talosVersion: '1.13.7', configuration });
    expect((await relabeled.run()).kind).toBe('finished');
    expect(relabeled.node.effects).not.toContain('move');
  });

  it('do not wait for ever for somebody who takes the virtual address', async () => {
    const machine = new UpdateRun({ role: 'controlplane', isAddressStuck: true });
    expect((await machine.run()).kind).toBe('finished');
    expect(machine.node.effects.filter((effect) => effect === 'move').length).toBeGreaterThan(2);
  });

  it('D33: apply a live change without a drain, and do nothing for a node that is up to date', async () => {
    const machine = new UpdateRun();
    const configuration = config('time: {servers: [192.0.2.1]}');
    machine.desired = desiredNode({ talosVersion: '1.13.7', configuration });
    expect((await machine.run()).kind).toBe('finished');
    expect(machine.node.effects).toEqual(['apply no-reboot']);
    machine.progress = { ...machine.progress, plan: 'provision' };
    expect((await machine.run()).kind).toBe('finished');
    expect(machine.node.effects).toEqual(['apply no-reboot']);
  });

  it('D33: prove that the kubelet has been restarted with its new settings, and is healthy', async () => {
    const machine = new UpdateRun();
    const { node } = machine;
    machine.desired = desiredNode({ talosVersion: '1.13.7', configuration: config('kubelet: {extraArgs: {v: "4"}}') });
    const unproven = { kind: 'waiting', message: expect.stringContaining('talosctl logs kubelet') };
    expect(await machine.pass()).toMatchObject({ kind: 'waiting', message: expect.stringContaining('Talos restarts') });
    node.kubelet = { version: 2, start: 1, health: true };
    expect(await machine.pass()).toMatchObject(unproven);
    node.kubelet = { version: 2, start: 0, health: undefined };
    expect(await machine.pass()).toMatchObject(unproven);
    node.kubelet = { version: 2, start: 2, health: undefined };
    expect(await machine.pass()).toMatchObject(unproven);
    node.kubelet = { version: 2, start: 2, health: false };
    expect(await machine.pass()).toMatchObject(unproven);
    node.kubelet = { version: 2, start: 2, health: true };
    expect((await machine.pass()).kind).toBe('finished');
    expect(node.effects).toEqual(['apply no-reboot']);
  });

  it('do not wait for the restart of a kubelet that had the settings before', async () => {
    const machine = new UpdateRun();
    machine.desired = desiredNode({ talosVersion: '1.13.7', configuration: config('kubelet: {extraArgs: {v: "0"}}') });
    expect((await machine.run(2)).kind).toBe('finished');
  });

  it('prove a restart of the kubelet also after another change of the desired state', async () => {
    const machine = new UpdateRun();
    const { node } = machine;
    machine.desired = desiredNode({ talosVersion: '1.13.7', configuration: config('kubelet: {extraArgs: {v: "4"}}') });
    await machine.pass();
    node.kubelet = { version: 2, start: 2, health: false };
    const both = config('kubelet: {extraArgs: {v: "4"}}\n  time: {servers: [192.0.2.1]}');
    machine.desired = desiredNode({ talosVersion: '1.13.7', configuration: both });
    expect(await machine.run(6)).toMatchObject({ message: expect.stringContaining('talosctl logs kubelet') });
    node.kubelet = { version: 2, start: 2, health: true };
    expect((await machine.run()).kind).toBe('finished');
  });

  it('pass over what a live change does not need, and over the boot slots where the system stays', async () => {
    const live = new UpdateRun();
    live.desired = desiredNode({ talosVersion: '1.13.7', configuration: config('time: {servers: [192.0.2.1]}') });
    await live.run();
    const applied = ['configuration-applied', 'configuration-active', 'node-healthy', 'node-uncordoned'];
    expect(live.walked).toEqual(['changes-assessed', ...applied]);
    const restart = new UpdateRun();
    restart.node.mode = 'reboot';
    restart.desired = desiredNode({ talosVersion: '1.13.7', configuration: config('env: {a: b}') });
    await restart.run();
    const before = ['images-pulled', 'node-drained', 'etcd-leadership-moved'];
    expect(restart.walked).toEqual(['changes-assessed', ...before, ...applied]);
    const upgrade = new UpdateRun();
    await upgrade.run();
    expect(upgrade.walked).toEqual(expect.arrayContaining(['system-upgraded', 'system-rebooted', 'system-proven']));
  });

  it('D31: stage a change that a running node does not take, and restart the drained node', async () => {
    const machine = new UpdateRun();
    machine.node.mode = 'reboot';
    machine.desired = desiredNode({ talosVersion: '1.13.7', configuration: config('env: {a: b}') });
    expect((await machine.run()).kind).toBe('finished');
    expect(machine.node.effects).toEqual(['drain', 'apply staged', 'reboot', 'uncordon']);
    expect(machine.node.active).toBe(machine.desired.configuration);
  });

  it('restart Talos 1.14 for a field that it ignores until then', async () => {
    const machine = new UpdateRun();
    machine.node.running = { version: '1.14.0', schematic: 'aaaa' };
    machine.desired = desiredNode({ talosVersion: '1.14.0', configuration: config('env: {a: b}') });
    expect((await machine.run()).kind).toBe('finished');
    expect(machine.node.effects).toEqual(['drain', 'apply no-reboot', 'reboot', 'uncordon']);
  });

  it('share one drain between an upgrade and a change of the configuration', async () => {
    const machine = new UpdateRun();
    machine.desired = desiredNode({ configuration: config('time: {servers: [192.0.2.1]}') });
    expect((await machine.run()).kind).toBe('finished');
    expect(machine.node.effects.filter((one) => one === 'drain' || one === 'reboot')).toEqual(['drain', 'reboot']);
    expect(machine.node.active).toBe(machine.desired.configuration);
  });

  it('do not drain the only node of a cluster', async () => {
    const machine = new UpdateRun({ isOnlyNode: true });
    expect((await machine.run()).kind).toBe('finished');
    expect(machine.node.effects).not.toContain('drain');
  });

  it('wait for a blocked drain with its reason, and go on as approved, once', async () => {
    const blocked = { kind: 'waiting', reason: 'DrainBlocked', message: 'budget web' } as const;
    const machine = new UpdateRun({ drained: () => blocked });
    expect(await machine.run()).toMatchObject({ kind: 'waiting', reason: 'DrainBlocked', message: 'budget web' });
    machine.approved = ['DrainBlocked'];
    expect((await machine.run()).kind).toBe('finished');
    expect(machine.approved).toEqual([]);
  });

  it('disturb no node whose image cannot be pulled', async () => {
    const machine = new UpdateRun();
    machine.node.isMissingImage = true;
    const result = await machine.run();
    expect(result).toMatchObject({ kind: 'error', error: { code: 'TALOS_IMAGE_NOT_PULLED' } });
    expect(result.kind === 'error' && String(result.error)).toContain('nocloud-installer/aaaa:v1.13.9');
    expect(machine.node.effects).toEqual(['pull']);
  });

  it('change nothing on another machine that answers at the address', async () => {
    const machine = new UpdateRun();
    const other = config("kubelet:\n    extraArgs:\n      provider-id: 'truenas://former/worker-0'");
    [machine.node.stored, machine.node.active] = [other, other];
    for (let pass = 0; pass < 5; pass += 1)
      expect(await machine.pass()).toMatchObject({
        kind: 'waiting',
        message: expect.stringContaining('is truenas://former/worker-0 and not truenas://nas/worker-0. Power that'),
      });
    expect(machine.node.effects).toEqual([]);
  });

  it('D34: name a configuration that the node rejects, and change nothing', async () => {
    const machine = new UpdateRun();
    machine.node.rejection = 'unknown keys found during decoding.';
    machine.desired = desiredNode({ talosVersion: '1.13.7', configuration: config('time: {servers: [192.0.2.1]}') });
    const expected = { kind: 'failed', reason: 'ChangeRefused', message: expect.stringContaining('unknown keys') };
    expect(await machine.run()).toMatchObject(expected);
    expect(machine.node.effects).toEqual([]);
  });

  it('D21: tell an installer that cannot succeed from one that may', async () => {
    const machine = new UpdateRun();
    const failed = { kind: 'failed', message: 'exit code 3.' } as const;
    machine.node.writeResult = { ...failed, isPermanent: true };
    expect(await machine.run()).toMatchObject({ kind: 'failed', reason: 'UpgradeRejected', message: 'exit code 3.' });
    machine.node.writeResult = { ...failed, isPermanent: false };
    expect(await machine.run()).toMatchObject({ kind: 'error', error: { code: 'TALOS_UPGRADE_FAILED' } });
    machine.node.writeResult = { kind: 'written' };
    expect((await machine.run()).kind).toBe('finished');
  });

  it('notice a fallback, do not try again by themselves, and do so when approved', async () => {
    const machine = new UpdateRun();
    machine.node.fallsBack = true;
    expect(await machine.run()).toMatchObject({ kind: 'failed', reason: 'UpgradeFellBack' });
    const { length } = machine.node.effects;
    expect(await machine.run()).toMatchObject({ kind: 'failed', reason: 'UpgradeFellBack' });
    // A repair in between begins with the first step.
    machine.progress = { ...machine.progress, plan: 'provision', step: '' };
    expect(isUpdateOpen(machine.progress)).toBe(true);
    expect(await machine.run()).toMatchObject({ kind: 'failed', reason: 'UpgradeFellBack' });
    expect(machine.node.effects.slice(length)).toEqual(['pull', 'drain']);
    machine.node.fallsBack = false;
    machine.approved = ['UpgradeFellBack'];
    expect((await machine.run()).kind).toBe('finished');
    expect(machine.node.running.version).toBe('1.13.9');
  });

  it('do not take a restart between the intent and the write for a fallback', async () => {
    const machine = new UpdateRun();
    const { system, systemBoot, systemWritten } = updateFacts;
    // The restart was for a former target, and came before the slot had the new one.
    const intent = { [system]: targetOf(machine.desired), [systemBoot]: 'an earlier boot', [systemWritten]: '' };
    machine.progress = { ...machine.progress, facts: { ...machine.progress.facts, ...intent } };
    expect((await machine.run()).kind).toBe('finished');
    expect(machine.node.running.version).toBe('1.13.9');
  });

  it.each(['1.13.7', '1.12.11'])('end well when the process is killed between any two calls, from %s', async (from) => {
    const started = () => {
      const machine = new UpdateRun({ role: 'controlplane' });
      machine.node.running = { version: from, schematic: 'aaaa' };
      machine.node.leads = true;
      machine.desired = desiredNode({ configuration: config('env: {a: b}') });
      machine.node.mode = 'reboot';
      return machine;
    };
    const undisturbed = started();
    expect((await undisturbed.run()).kind).toBe('finished');
    const reboots = (machine: UpdateRun) => machine.node.boot;
    for (let calls = 0; calls < 60; calls += 1) {
      const machine = started();
      machine.node.callsLeft = calls;
      await machine.run().catch((error: unknown) => {
        if (!(error instanceof Killed)) throw error;
      });
      machine.node.callsLeft = Number.POSITIVE_INFINITY;
      expect((await machine.run()).kind, `killed after ${calls} calls`).toBe('finished');
      expect(machine.node.running.version).toBe('1.13.9');
      expect(machine.node.active).toBe(machine.desired.configuration);
      expect(reboots(machine), `killed after ${calls} calls`).toBe(reboots(undisturbed));
      expect(machine.isCordoned).toBe(false);
    }
  });

  it.each([0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20])(
    'follow a desired state that goes back in the middle, after %s calls',
    async (calls) => {
      const machine = new UpdateRun();
      const before = desiredNode({ talosVersion: '1.13.7' });
      machine.node.callsLeft = calls;
      await machine.run().catch(() => undefined);
      machine.node.callsLeft = Number.POSITIVE_INFINITY;
      machine.desired = before;
      expect((await machine.run()).kind).toBe('finished');
      expect(machine.node.running.version).toBe('1.13.7');
      expect(machine.node.next?.version ?? '1.13.7', 'no other system boots next').toBe('1.13.7');
      expect([machine.isCordoned, machine.progress.facts[updateFacts.revision]]).toEqual([false, '']);
    },
  );

  it('do not leave a staged configuration behind that is no longer desired', async () => {
    const machine = new UpdateRun();
    machine.node.mode = 'reboot';
    machine.desired = desiredNode({ talosVersion: '1.13.7', configuration: config('env: {a: b}') });
    // Killed a little further each time.
    for (let pass = 0; pass < 20 && !machine.node.effects.includes('apply staged'); pass += 1) {
      machine.node.callsLeft = 2;
      await machine.pass().catch(() => undefined);
    }
    expect([machine.node.stored === plain, machine.node.active === plain]).toEqual([false, true]);
    machine.desired = desiredNode({ talosVersion: '1.13.7' });
    machine.node.mode = 'no-reboot';
    machine.node.callsLeft = Number.POSITIVE_INFINITY;
    expect((await machine.run()).kind).toBe('finished');
    expect([machine.node.stored, machine.node.active]).toEqual([plain, plain]);
  });

  it('continue the record of a former release, which had three of these steps', async () => {
    const machine = new UpdateRun();
    machine.progress = { ...machine.progress, plan: 'update', step: 'configuration-active' };
    expect((await machine.run()).kind).toBe('finished');
    expect(machine.node.running.version).toBe('1.13.9');
  });
});
