import { create } from '@bufbuild/protobuf';
import { Code, ConnectError } from '@connectrpc/connect';
import { describe, expect, it } from 'vitest';
import { NodeServers } from '../../../test/talos/node-servers.ts';
import { SecretString } from '../../lib/secret-string.ts';
import { GetResponseSchema, ListResponseSchema } from '../gen/cosi_pb.ts';
import { ApplyConfigurationRequest_Mode, RebootRequest_Mode, ResetRequest_WipeMode } from '../gen/machine_pb.ts';
import { resourceKinds } from './resources.ts';

const nodes = new NodeServers();

describe('a call to a node', () => {
  it('returns version and platform without the wrapper message', async () => {
    const message = { version: { tag: 'v1.13.9' }, platform: { name: 'nocloud', mode: 'cloud' } };
    const server = await nodes.start({ version: () => ({ messages: [message] }) });
    expect(await nodes.connect(server).version()).toEqual({ version: '1.13.9', platform: 'nocloud' });
  });

  it('reads the stage and the unmet conditions from the YAML form, and a missing status as just started', async () => {
    const yamlSpec =
      'stage: shutting down\nstatus:\n  ready: false\n  unmetConditions:\n    - name: time\n      reason: not in sync\n';
    let there = true;
    const server = await nodes.start(
      {},
      {
        get: ({ namespace, type, id }) => {
          expect([namespace, type, id]).toEqual(['runtime', 'MachineStatuses.runtime.talos.dev', 'machine']);
          if (!there) throw new ConnectError('resource does not exist', Code.NotFound);
          return create(GetResponseSchema, { resource: { metadata: { id }, spec: { yamlSpec } } });
        },
      },
    );
    const talos = nodes.connect(server);
    const unmetConditions = [{ name: 'time', reason: 'not in sync' }];
    expect(await talos.machineStatus()).toEqual({ stage: 'shutting down', ready: false, unmetConditions });
    there = false;
    expect(await talos.machineStatus()).toEqual({ stage: 'unknown', ready: false, unmetConditions: [] });
  });

  it('lists resources with labels, phase and parsed spec', async () => {
    const server = await nodes.start(
      {},
      {
        async *list({ type }) {
          expect(type).toBe('Disks.block.talos.dev');
          const metadata = { id: 'vda', version: '3', phase: 'running', labels: { a: 'b' } };
          yield create(ListResponseSchema, { resource: { metadata, spec: { yamlSpec: 'size: 10\n' } } });
          yield create(ListResponseSchema, {
            resource: { metadata: { ...metadata, id: 'vdb', phase: 'tearingDown' } },
          });
        },
      },
    );
    expect(await nodes.connect(server).listResources(resourceKinds.disk)).toEqual([
      { id: 'vda', version: '3', phase: 'running', labels: { a: 'b' }, spec: { size: 10 } },
      { id: 'vdb', version: '3', phase: 'tearingDown', labels: { a: 'b' }, spec: undefined },
    ]);
  });

  it('names etcd members by the hexadecimal ids of Talos, also beyond the range of a number', async () => {
    const removed: bigint[] = [];
    const asked: boolean[] = [];
    const server = await nodes.start({
      serviceList: () => ({ messages: [{ services: [{ id: 'etcd', state: 'Running' }] }] }),
      etcdMemberList: ({ queryLocal }) => {
        asked.push(queryLocal);
        return { messages: [{ members: [{ id: 0xfedcba9876543210n, hostname: 'n1', isLearner: true }, { id: 1n }] }] };
      },
      etcdStatus: () => ({ messages: [{ memberStatus: { memberId: 1n, dbSize: 5n } }] }),
      etcdRemoveMemberByID: ({ memberId }) => {
        removed.push(memberId);
        return { messages: [{}] };
      },
      etcdAlarmList: () => ({ messages: [{ memberAlarms: [{ memberId: 1n, alarm: 1 }, { memberId: 2n }] }] }),
      etcdForfeitLeadership: () => ({ messages: [{}] }),
    });
    const talos = nodes.connect(server);
    expect(await talos.etcdMembers()).toEqual([
      { id: 'fedcba9876543210', name: 'n1', peerUrls: [], learner: true },
      { id: '0000000000000001', name: '', peerUrls: [], learner: false },
    ]);
    expect(asked, 'not by the endpoints that Talos knows').toEqual([true]);
    expect(await talos.etcdStatus()).toMatchObject({
      memberId: '0000000000000001',
      leaderId: '0000000000000000',
      databaseBytes: 5,
    });
    await talos.removeEtcdMember('fedcba9876543210');
    expect(removed).toEqual([0xfedcba9876543210n]);
    expect(await talos.etcdAlarms()).toEqual(['NOSPACE of 0000000000000001']);
    expect(await talos.forfeitLeadership()).toBeUndefined();
  });

  it('does not query an etcd that is down, whose calls hang, and reports the state of its service', async () => {
    const ts = { seconds: 1700000000n, nanos: 5 };
    const events = {
      events: [
        { msg: 'Waiting', state: 'Waiting' },
        { msg: 'Running pre state', ts },
      ],
    };
    let services: { id: string; state: string; events?: typeof events }[] = [
      { id: 'etcd', state: 'Preparing', events },
    ];
    const server = await nodes.start({ serviceList: () => ({ messages: [{ services }] }) });
    const talos = nodes.connect(server);
    const reported = {
      code: 'TALOS_NOT_READY',
      message: expect.stringContaining('etcd is in state Preparing: Running pre'),
    };
    for (const call of [talos.etcdMembers(), talos.etcdStatus(), talos.etcdAlarms()])
      await expect(call).rejects.toMatchObject(reported);
    expect(await talos.etcdService()).toMatchObject({ state: 'Preparing', changedAt: '1700000000.5' });
    services = [];
    expect(await talos.etcdService()).toBeUndefined();
    await expect(talos.etcdMembers()).rejects.toThrow('its service etcd does not exist yet');
  });

  it('always sets the mode of a configuration explicitly, because the default on the wire reboots', async () => {
    const seen: unknown[] = [];
    const server = await nodes.start({
      applyConfiguration: ({ data, mode }) => {
        seen.push([Buffer.from(data).toString(), mode]);
        return { messages: [{ warnings: ['careful'] }] };
      },
    });
    expect(await nodes.connect(server).applyConfiguration(new SecretString('version: v1alpha1'), 'no-reboot')).toEqual([
      'careful',
    ]);
    expect(seen).toEqual([['version: v1alpha1', ApplyConfigurationRequest_Mode.NO_REBOOT]]);
  });

  it('reboots through the firmware, or by the faster kernel path', async () => {
    const seen: unknown[] = [];
    const server = await nodes.start({
      reboot: ({ mode }) => {
        seen.push(mode);
        return { messages: [{}] };
      },
    });
    await nodes.connect(server).reboot('firmware');
    await nodes.connect(server).reboot('kernel');
    expect(seen).toEqual([RebootRequest_Mode.POWERCYCLE, RebootRequest_Mode.DEFAULT]);
  });

  it('wipes STATE and EPHEMERAL to recycle a machine, and the disk only on request', async () => {
    const seen: unknown[] = [];
    const server = await nodes.start({
      reset: ({ graceful, reboot, mode, systemPartitionsToWipe }) => {
        seen.push({
          graceful,
          reboot,
          mode,
          labels: systemPartitionsToWipe.map(({ label, wipe }) => `${label}:${wipe}`),
        });
        return { messages: [{}] };
      },
    });
    const talos = nodes.connect(server);
    await talos.reset({ graceful: false, reboot: true, wipe: 'configuration' });
    await talos.reset({ graceful: true, reboot: false, wipe: 'disk' });
    const mode = ResetRequest_WipeMode.SYSTEM_DISK;
    expect(seen).toEqual([
      { graceful: false, reboot: true, mode, labels: ['STATE:true', 'EPHEMERAL:true'] },
      { graceful: true, reboot: false, mode, labels: [] },
    ]);
  });

  it('reads the boot id from any number of chunks', async () => {
    const server = await nodes.start({
      async *read({ path }) {
        expect(path).toBe('/proc/sys/kernel/random/boot_id');
        yield { bytes: Buffer.from('0d0f') };
        yield { bytes: Buffer.from('-1\n') };
      },
    });
    expect(await nodes.connect(server).bootId()).toBe('0d0f-1');
  });

  it('reports the health of a service without a health check as unknown', async () => {
    const services = [
      { id: 'etcd', state: 'Running', health: { healthy: true } },
      { id: 'udevd', state: 'Running', health: { unknown: true } },
      { id: 'machined', state: 'Running' },
    ];
    const server = await nodes.start({ serviceList: () => ({ messages: [{ services }] }) });
    expect((await nodes.connect(server).services()).map(({ id, healthy }) => [id, healthy])).toEqual([
      ['etcd', true],
      ['udevd', undefined],
      ['machined', undefined],
    ]);
  });
});
