import { describe, expect, it } from 'vitest';
import { aMachine, aProviderConfig } from '../../../../test/support/fixtures/builders.ts';
import { ManualClock } from '../../../../test/support/manual-clock.ts';
import type { Machine } from '../../../api/machine.ts';
import { annotations } from '../../../api/names.ts';
import type { Orphan } from '../../../engine/capabilities/orphans.ts';
import { TrueNasError } from '../../../platforms/truenas/error-codes.ts';
import type { Services } from '../../shared/services.ts';
import { collectOrphans } from './collect-orphans.ts';
import { OrphanStatusWriter } from './orphan-status-writer.ts';
import type { OrphanScope } from './scan-orphans.ts';

const { name } = aMachine().metadata;
const left: Orphan = { machine: name, resources: ['dataset tank/a'], isRunning: false, facts: {} };

/** The cache, the API server, and the resources on the system. */
function createFixture({ there = [] as Machine[], find = async () => [left] as readonly Orphan[] } = {}) {
  const clock = new ManualClock();
  const message: string[] = [];
  const services = {
    ...{ installation: 'installation-1', provider: 'talos', clock },
    stores: { machines: { get: () => undefined } },
    kube: {
      list: async ({ kind }: { kind: string }) => ({ items: kind === 'Machine' ? there : [] }),
      merge: async () => aProviderConfig(),
    },
    addresses: { find: async () => undefined },
    events: { record: (_: unknown, ...[, ...text]: string[]) => void message.push(text.join(' ')) },
  } as unknown as Services;
  const scope = {
    orphans: { find, remove: [] },
    check: { signal: new AbortController().signal },
  } as unknown as OrphanScope;
  return { services, scope, messages: message };
}
const read = ({ services, scope }: ReturnType<typeof createFixture>, config = aProviderConfig(), away: string[] = []) =>
  collectOrphans(services, new OrphanStatusWriter(services, config, scope.check.signal), [scope], {
    away,
    signal: scope.check.signal,
  });

describe('a scan for orphans', () => {
  it('lists the resources of a Machine that does not exist, and reports them in the ProviderConfig', async () => {
    expect(await read(createFixture())).toMatchObject({
      listed: {
        orphans: [{ machine: name, resources: 'dataset tank/a', since: '2026-11-21T09:00:00Z' }],
        orphanCount: 1,
      },
      search: { result: 'OrphansFound', message: expect.stringContaining(name) },
    });
  });

  it('S9: does not treat an existing Machine as an orphan if the cache lacks it', async () => {
    const report = await read(createFixture({ there: [aMachine()] }));
    expect(report).toMatchObject({ search: { result: 'NoneFound' } });
    expect(report?.listed).toEqual({});
  });

  it('keeps the known orphans if the platform does not answer', async () => {
    const find = async () => Promise.reject(new TrueNasError('TRUENAS_UNREACHABLE'));
    const known = { machine: name, resources: '', since: '2026-11-20T09:00:00Z', message: '' };
    const config = aProviderConfig();
    config.status = { ...config.status!, orphans: [known], orphanCount: 1 };
    expect(await read(createFixture({ find }), config)).toMatchObject({
      listed: { orphans: [known], orphanCount: 1 },
      search: { result: 'PlatformUnreachable' },
    });
  });

  it('keeps the known orphans of an unreachable failure domain, and begins no removal elsewhere meanwhile', async () => {
    const day = {
      since: '2026-11-20T09:00:00Z',
      unusedSince: '2026-11-20T09:00:00Z',
      lastSeenAt: '2026-11-21T08:59:00Z',
    };
    const there = {
      machine: 'away-cp-0',
      failureDomain: 'b',
      resources: 'dataset tank/b',
      since: '2026-11-20T09:00:00Z',
      message: 'x',
    };
    const gone = { ...there, machine: 'gone-cp-0', failureDomain: 'c' };
    const one = createFixture();
    const config = aProviderConfig();
    const here = { ...day, machine: name, failureDomain: 'a', resources: 'dataset tank/a', message: '' };
    config.metadata.annotations = { [annotations.removeOrphans]: 'away-cp-0' };
    config.status = { ...config.status!, orphans: [here, there, gone] };
    const report = await read(one, config, ['b']);
    expect(report?.listed.orphans).toEqual([
      there,
      {
        machine: name,
        resources: 'dataset tank/a',
        since: day.since,
        message: expect.stringContaining('while b cannot be searched'),
      },
    ]);
    expect(report?.search).toMatchObject({ result: 'OrphansFound' });
    expect(one.messages).toEqual([expect.stringMatching(/^OrphanKept away-cp-0: It is not removed while b /)]);
    const clean = createFixture({ find: async () => [] });
    expect((await read(clean, aProviderConfig(), ['b']))?.search).toMatchObject({
      result: 'PlatformUnreachable',
      message: expect.stringContaining('b'),
    });
  });
});
