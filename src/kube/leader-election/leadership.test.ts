import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  candidate,
  clientOf,
  LeaseServer,
  type NetworkState,
} from '../../../test/support/fixtures/lease-candidates.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { assertActive, deadlineSignal } from '../../lib/deadline.ts';
import { type Log, noLog } from '../../lib/log.ts';
import { Leadership } from './leadership.ts';
import { toMicroTime } from './lease-client.ts';

describe('leader election', () => {
  it('writes a Lease that a real API server accepts: six digits, a holder, a duration', async () => {
    const [server, clock] = [new LeaseServer(), new ManualClock()];
    const a = candidate(server, clock, 'a');
    await clock.settle();
    expect(a.leads).toBe(true);
    expect(server.lease?.spec).toEqual({
      holderIdentity: 'a',
      leaseDurationSeconds: 15,
      acquireTime: '2026-11-21T09:00:00.000000Z',
      renewTime: '2026-11-21T09:00:00.000000Z',
      leaseTransitions: 0,
    });
    expect(toMicroTime(new Date('2026-01-02T03:04:05.678Z'))).toBe('2026-01-02T03:04:05.678000Z');
    a.end.abort();
    expect(await a.ended).toBe('ended');
  });

  it('renews at a third of the lease duration, which keeps a second candidate waiting', async () => {
    const [server, clock] = [new LeaseServer(), new ManualClock()];
    const a = candidate(server, clock, 'a');
    await clock.settle();
    const b = candidate(server, clock, 'b');
    await clock.advance(60_000);
    expect(server.writes).toBe(1 + 60 / 5);
    expect([a.leads, b.leads, b.leadership.holder]).toEqual([true, false, 'a']);
    a.end.abort();
    b.end.abort();
    await Promise.all([a.ended, b.ended]);
  });

  it('releases the Lease on shutdown, so that a rollout waits for one poll instead of a lease duration', async () => {
    const [server, clock] = [new LeaseServer(), new ManualClock()];
    const a = candidate(server, clock, 'a');
    await clock.settle();
    const b = candidate(server, clock, 'b');
    a.end.abort();
    expect(await a.ended).toBe('ended');
    expect(server.lease?.spec?.holderIdentity).toBe('');
    await clock.advance(2000);
    expect(b.leads).toBe(true);
    expect(server.lease?.spec?.leaseTransitions).toBe(1);
    b.end.abort();
    await b.ended;
  });

  it('releases a Lease that it may have acquired when it ends during the request', async () => {
    const [server, clock] = [new LeaseServer(), new ManualClock()];
    let calls = 0;
    const a = candidate(server, clock, 'a', () => {
      calls += 1;
      if (calls !== 2) return 'works';
      a.end.abort();
      return 'reply lost';
    });
    expect(await a.ended).toBe('ended');
    expect(server.writes).toBe(2);
    expect(server.lease?.spec?.holderIdentity).toBe('');
  });

  it('ends without an error when its permissions are removed first, as helm uninstall removes them', async () => {
    const [server, clock] = [new LeaseServer(), new ManualClock()];
    const lines: string[] = [];
    const write = (level: string) => (_: object, message: string) => void lines.push(`${level}: ${message}`);
    const log: Log = {
      ...{ debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') },
      child: () => log,
    };
    let now: NetworkState = 'works';
    const a = candidate(server, clock, 'a', () => now, log);
    await clock.settle();
    now = 'forbidden';
    a.end.abort();
    expect(await a.ended).toBe('ended');
    expect(lines).toEqual(['info: leading', 'info: the lease expires: the permission to write it was removed']);
  });

  it("takes over only after a lease duration without a change, regardless of the former holder's clock", async () => {
    const [server, clock] = [new LeaseServer(), new ManualClock()];
    server.create({
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { name: 'leader', namespace: 'openmcp-system' },
      spec: {
        holderIdentity: 'dead',
        leaseDurationSeconds: 15,
        acquireTime: '2020-01-01T00:00:00.000000Z',
        renewTime: '2020-01-01T00:00:00.000000Z',
      },
    });
    const b = candidate(server, clock, 'b');
    await clock.advance(10_000);
    clock.jump(86_400_000);
    await clock.advance(4_999);
    expect(b.leads).toBe(false);
    await clock.advance(2_000);
    expect(b.leads).toBe(true);
    b.end.abort();
    await b.ended;
  });

  it('stops leading before another candidate can start, when the API server is unreachable', async () => {
    const [server, clock] = [new LeaseServer(), new ManualClock()];
    let network: NetworkState = 'works';
    const a = candidate(server, clock, 'a', () => network);
    const b = candidate(server, clock, 'b');
    await clock.advance(5_000);
    network = 'silent';
    await clock.advance(9_999);
    expect(a.leads).toBe(true);
    await clock.advance(1);
    expect(a.leads).toBe(false);
    expect(await a.ended).toBe('lost');
    expect(String(a.reason)).toContain('LeadershipLost');
    expect(b.leads).toBe(false);
    await clock.advance(10_000);
    expect(b.leads).toBe(true);
    b.end.abort();
    await b.ended;
  });

  it('starts no further work after a long suspension of the process, although no timer has fired yet', async () => {
    const [server, clock] = [new LeaseServer(), new ManualClock()];
    const options = { client: clientOf(server, clock, () => 'works'), namespace: 'n', name: 'l', identity: 'a' };
    const leadership = new Leadership({ ...options, clock, log: noLog });
    let calls: AbortSignal[] = [];
    const result = leadership.run(new AbortController().signal, async (signal, leaseSeconds) => {
      calls = [deadlineSignal(60, signal), deadlineSignal(60, leaseSeconds)];
      const ended = new Promise((resolve) => signal.addEventListener('abort', resolve));
      await ended;
    });
    await clock.advance(1000);
    clock.standStill(8_999);
    for (const call of calls) assertActive(call);
    clock.standStill(1);
    for (const call of calls) expect(() => assertActive(call)).toThrow('the lease could not be renewed in time');
    await clock.advance(5_000);
    expect(await result).toBe('lost');
  });

  it('survives one dead connection: it ends a renewal attempt while there is time for another', async () => {
    const [server, clock] = [new LeaseServer(), new ManualClock()];
    let network: NetworkState = 'works';
    const a = candidate(server, clock, 'a', () => network);
    await clock.advance(4_999);
    network = 'silent';
    await clock.advance(1);
    network = 'works';
    await clock.advance(60_000);
    expect(a.leads).toBe(true);
    expect(server.lease?.spec?.leaseTransitions).toBe(0);
    a.end.abort();
    await a.ended;
  });

  it('completes final writes under a signal that outlasts the end of the work', async () => {
    const [server, clock] = [new LeaseServer(), new ManualClock()];
    const options = { client: clientOf(server, clock, () => 'works'), namespace: 'n', name: 'l', identity: 'a' };
    const leadership = new Leadership({ ...options, clock, log: noLog });
    const end = new AbortController();
    const seen: boolean[] = [];
    const result = leadership.run(end.signal, async (signal, leaseSeconds) => {
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      seen.push(signal.aborted, leaseSeconds.aborted);
    });
    await clock.advance(1000);
    end.abort();
    expect(await result).toBe('ended');
    expect(seen).toEqual([true, false]);
  });

  it('survives a short outage and a lost response without losing the Lease', async () => {
    const [server, clock] = [new LeaseServer(), new ManualClock()];
    const plan: NetworkState[] = ['works', 'works', 'refused', 'reply lost', 'refused', 'works'];
    const a = candidate(server, clock, 'a', () => plan.shift() ?? 'works');
    await clock.advance(60_000);
    expect(a.leads).toBe(true);
    a.end.abort();
    expect(await a.ended).toBe('ended');
  });

  it('recreates a deleted Lease and tolerates other writers, as long as nobody else holds it', async () => {
    const [server, clock] = [new LeaseServer(), new ManualClock()];
    const a = candidate(server, clock, 'a');
    await clock.settle();
    server.lease = undefined;
    await clock.advance(5_000);
    expect(server.find()?.spec?.holderIdentity).toBe('a');
    const lease = server.find();
    if (lease) server.replace({ ...lease, metadata: { ...lease.metadata, labels: { seen: 'yes' } } });
    await clock.advance(20_000);
    expect(a.leads).toBe(true);
    expect(server.find()?.metadata.labels).toEqual({ seen: 'yes' });
    a.end.abort();
    expect(await a.ended).toBe('ended');
  });

  it('stops at the first renewal that finds another holder', async () => {
    const [server, clock] = [new LeaseServer(), new ManualClock()];
    const a = candidate(server, clock, 'a');
    await clock.settle();
    const lease = server.find();
    if (lease) server.replace({ ...lease, spec: { ...lease.spec, holderIdentity: 'usurper' } });
    await clock.advance(5_000);
    expect(a.leads).toBe(false);
    expect(await a.ended).toBe('lost');
    expect(server.find()?.spec?.holderIdentity).toBe('usurper');
  });

  it('does not wait for work that ignores the loss', async () => {
    const [server, clock] = [new LeaseServer(), new ManualClock()];
    let network: NetworkState = 'works';
    const leadership = new Leadership({
      client: clientOf(server, clock, () => network),
      namespace: 'n',
      name: 'l',
      identity: 'a',
      clock,
      log: noLog,
    });
    const result = leadership.run(new AbortController().signal, () => new Promise(() => {}));
    await clock.advance(1);
    network = 'refused';
    await clock.advance(10_000 + 5_000);
    expect(await result).toBe('lost');
    expect(leadership.isLeader).toBe(false);
  });

  it('releases the Lease and passes on the error when the work fails', async () => {
    const [server, clock] = [new LeaseServer(), new ManualClock()];
    const options = { client: clientOf(server, clock, () => 'works'), namespace: 'n', name: 'l', identity: 'a' };
    const leadership = new Leadership({ ...options, clock, log: noLog });
    const result = leadership.run(new AbortController().signal, () => Promise.reject(new Error('broken')));
    await expect(result).rejects.toThrow('broken');
    expect(server.lease?.spec?.holderIdentity).toBe('');
  });

  it('never has two leaders, in any network conditions, with any clock jumps, across restarts', async () => {
    const conditions = fc.constantFrom<NetworkState>(
      'works',
      'works',
      'works',
      'refused',
      'reply lost',
      'silent',
      'slow',
    );
    const act = fc.record({
      ms: fc.constantFrom(500, 2000, 4000, 9000, 16_000),
      jump: fc.constantFrom(0, 0, -3_600_000, 3_600_000),
      restart: fc.constantFrom<number | undefined>(undefined, undefined, 0, 1, 2),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(act, { maxLength: 25 }),
        fc.array(conditions, { maxLength: 200 }),
        async (acts, clocks) => {
          const [server, clock] = [new LeaseServer(), new ManualClock()];
          const next = () => clocks.shift() ?? 'works';
          let creations = 0;
          const createReplica = () => {
            creations += 1;
            return candidate(server, clock, `pod-${creations}`, next);
          };
          const all = [createReplica(), createReplica(), createReplica()];
          const leaders = () => all.filter((c) => c.leads).length;
          for (const { ms, jump, restart } of acts) {
            clock.jump(jump);
            for (let passed = 0; passed < ms; passed += 250) {
              await clock.advance(250);
              expect(leaders()).toBeLessThanOrEqual(1);
            }
            if (restart !== undefined) {
              all[restart]?.end.abort();
              await clock.advance(0);
              all[restart] = createReplica();
            }
          }
          clocks.length = 0;
          await clock.advance(30_000);
          for (let i = 0; i < all.length; i += 1) if (all[i]?.isOver) all[i] = createReplica();
          await clock.advance(60_000);
          expect(leaders()).toBe(1);
          for (const c of all) c.end.abort();
          await clock.advance(60_000);
        },
      ),
      { numRuns: 25 },
    );
  });
});
