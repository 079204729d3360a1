import { describe, expect, it } from 'vitest';
import { aMachine } from '../../../test/support/builders.ts';
import type { Orphan } from '../../engine/orphans.ts';
import type { Services } from '../services.ts';
import { findAll, type Ground } from './find.ts';

const machine = aMachine();
const { name } = machine.metadata;
const at = (site: string | undefined, ...orphans: Orphan[]): Ground =>
  ({
    platform: 'truenas',
    orphans: { find: async () => orphans, remove: [] },
    check: { site, signal: new AbortController().signal },
  }) as unknown as Ground;
const left = (what: string, runs = false): Orphan => ({ machine: name, what: [what], runs, facts: {} });

function find(grounds: readonly Ground[], there: readonly object[] = []) {
  const services = {
    ...{ installation: 'installation-1', provider: 'talos' },
    stores: { machines: { get: () => undefined } },
    kube: { list: async () => ({ items: there }) },
  } as unknown as Services;
  return findAll(services, grounds);
}

describe('orphans', () => {
  it('are known with the place where they are', async () => {
    const found = await find([at('a'), at('b', left('dataset x'))]);
    expect(found.map(({ orphan, ground }) => [orphan, ground.check.site])).toEqual([[left('dataset x'), 'b']]);
  });

  it('are in doubt at two places: one of them may be a copy', async () => {
    const [one, ...others] = await find([at('a', left('dataset x')), at('b', left('dataset y', true))]);
    expect(others).toEqual([]);
    expect(one?.orphan).toMatchObject({
      ...{ what: ['dataset x', 'dataset y'], runs: true },
      doubt: expect.stringContaining('(a, b)'),
    });
  });

  it('S9: are none whose Machine the API server knows', async () => {
    expect(await find([at(undefined, left('dataset x'))], [machine])).toEqual([]);
  });
});
