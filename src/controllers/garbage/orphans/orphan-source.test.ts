import { describe, expect, it } from 'vitest';
import { aProviderConfig } from '../../../../test/support/fixtures/builders.ts';
import { ManualClock } from '../../../../test/support/manual-clock.ts';
import { annotations } from '../../../api/names.ts';
import type { ProviderConfig } from '../../../api/provider-config.ts';
import type { Orphan } from '../../../engine/capabilities/orphans.ts';
import { noLog } from '../../../lib/log.ts';
import { TrueNasError } from '../../../platforms/truenas/error-codes.ts';
import type { Services } from '../../shared/services.ts';
import { GarbageSchedule } from '../garbage-schedule.ts';
import type { GarbageScope } from '../garbage-source.ts';
import { orphanSource } from './orphan-source.ts';

const { signal } = new AbortController();

/** A ProviderConfig with one failure domain, in which `find` lists the orphans. */
function createFixture({ isSynced = true, find = async (): Promise<readonly Orphan[]> => [] } = {}) {
  const clock = new ManualClock();
  const written: object[] = [];
  let scans = 0;
  const services = {
    ...{ installation: 'installation-1', provider: 'talos', clock },
    stores: { machines: { isSynced, get: () => undefined } },
    kube: {
      list: async () => ({ items: [] }),
      merge: async (_: unknown, __: unknown, patch: { status: object }) => {
        written.push(patch.status);
        return aProviderConfig();
      },
    },
    addresses: { find: async () => undefined },
    events: { record: () => {} },
  } as unknown as Services;
  const orphans = {
    find: () => {
      scans += 1;
      return find();
    },
    remove: [],
  };
  const scopes = [
    { platform: 'truenas', garbage: { orphans }, check: { failureDomain: undefined, signal } },
  ] as unknown as GarbageScope[];
  const schedule = new GarbageSchedule(clock);
  const visit = (config: ProviderConfig = aProviderConfig()) =>
    orphanSource.collect({ services, schedule, config, scopes, unavailable: [], signal, log: noLog });
  return { clock, written, visit, scans: () => scans };
}

describe('the source of orphans', () => {
  it('writes the result of each scan, and scans again after ten minutes', async () => {
    const { clock, written, visit, scans } = createFixture();
    expect(await visit()).toBeUndefined();
    expect(written).toEqual([{ orphanSearch: { result: 'NoneFound', message: '' } }]);
    await clock.advance(300_000);
    await visit();
    expect(scans()).toBe(1);
    await clock.advance(300_000);
    await visit();
    expect(scans()).toBe(2);
  });

  it('S9: scans nothing before the caches are complete', async () => {
    const { visit, scans } = createFixture({ isSynced: false });
    expect(await visit()).toBeUndefined();
    expect(scans()).toBe(0);
  });

  it('scans at once while a removal is requested', async () => {
    const { visit, scans } = createFixture();
    await visit();
    const config = aProviderConfig();
    config.metadata.annotations = { [annotations.removeOrphans]: 'unlisted-cp-0' };
    await visit(config);
    expect(scans()).toBe(2);
  });

  it('scans again in half a minute if the platform does not answer', async () => {
    const { written, visit, scans } = createFixture({
      find: () => Promise.reject(new TrueNasError('TRUENAS_UNREACHABLE')),
    });
    expect([await visit(), await visit()]).toEqual([30, 30]);
    expect(scans()).toBe(2);
    expect(written).toMatchObject([
      { orphanSearch: { result: 'PlatformUnreachable' } },
      { orphanSearch: { result: 'PlatformUnreachable' } },
    ]);
  });

  it('waits for the next check if the platform refuses', async () => {
    const { visit } = createFixture({ find: () => Promise.reject(new TrueNasError('TRUENAS_KEY_REFUSED')) });
    expect(await visit()).toBeUndefined();
  });
});
