import { describe, expect, it } from 'vitest';
import type { ClusterRollout } from './cluster-rollout.ts';
import { countFreeTurns, findEarlierCluster, type RolloutCluster } from './decide-turn.ts';

const cluster = (name: string, change: Partial<RolloutCluster> = {}): RolloutCluster => ({
  ...{ name: `shop/${name}`, namespace: 'shop', clusterConfigs: [], rollout: undefined },
  ...{ isChanging: false, isWaiting: true, ...change },
});
const at = (state: ClusterRollout['state'], revision = 'now'): Partial<RolloutCluster> => ({
  rollout: { revision, state },
});
const earlier = (one: RolloutCluster, others: RolloutCluster[], maxClusters = 1) =>
  findEarlierCluster({ cluster: one, others, revision: 'now', maxClusters });

describe('the turns of the clusters of a ProviderConfig', () => {
  const me = cluster('me');
  const changing = cluster('a', { isChanging: true, ...at('Changing') });
  const proven = cluster('p', { isWaiting: false, ...at('Changed') });

  it.each<[string, RolloutCluster[], number, RegExp | undefined]>([
    ['alone', [], 1, undefined],
    ['others that only wait', [cluster('a'), cluster('b')], 1, undefined],
    ['one is changing', [changing], 1, /shop\/a .*is the first to change/],
    ['the canary is changing, and more are allowed', [changing], 3, /shop\/a .*is the first to change/],
    ['the canary has one node left', [cluster('a', at('Changing'))], 3, /shop\/a .*first to change/],
    ['the canary is paused by a user', [cluster('a', { isWaiting: false, ...at('Changing') })], 1, undefined],
    ['one changes for an earlier revision', [cluster('a', at('Changing', 'before'))], 1, undefined],
    ['one has succeeded', [proven], 1, undefined],
    ['one has succeeded, and the next one is changing', [proven, changing], 1, / are changed first/],
    ['one has succeeded, and more are allowed', [proven, changing], 2, undefined],
    ['one has succeeded, and no more are allowed', [proven, changing, { ...changing }], 2, / are changed first/],
    ['one never had to change, which proves nothing', [cluster('n', at('Current')), changing], 2, /first to change/],
    [
      'one has failed',
      [cluster('a', { failed: 'a-cp-0', ...at('Changing') })],
      5,
      /shop\/a .*stopped at machine a-cp-0/,
    ],
    ['one has failed after another succeeded', [proven, cluster('a', { failed: 'm' })], 5, /stopped at machine m/],
    ['one has failed at a change of its own', [cluster('a', { failed: 'm', ...at('Changed') })], 1, undefined],
  ])('%s', (_, others, maxClusters, message) => {
    const found = earlier(me, others, maxClusters);
    if (message) expect(found).toMatch(message);
    else expect(found).toBeUndefined();
  });

  it('a failure of a ClusterConfig stops those that share it, in the same namespace', () => {
    const failed = cluster('a', { failed: 'm', clusterConfigs: ['gpu', 'x'], ...at('Changed') });
    expect(earlier(cluster('me', { clusterConfigs: ['gpu'] }), [failed])).toMatch(/stopped at machine m/);
    expect(earlier(cluster('me', { clusterConfigs: ['y'] }), [failed])).toBeUndefined();
    expect(earlier(cluster('me', { clusterConfigs: ['gpu'], namespace: 'lab' }), [failed])).toBeUndefined();
  });

  it('a cluster that has followed its ProviderConfig needs no canary for its own changes', () => {
    const own = cluster('me', at('Current'));
    expect(earlier(own, [changing], 2)).toBeUndefined();
    expect(earlier(own, [changing], 1)).toMatch(/ are changed first/);
  });

  it.each<[string, RolloutCluster[], number, number]>([
    ['there is no canary yet', [cluster('a')], 3, 1],
    ['the canary is changing', [changing], 3, 0],
    ['the canary has one node left', [cluster('a', at('Changing'))], 3, 0],
    ['one has succeeded', [proven], 3, 3],
    ['one has succeeded, and another is changing', [proven, changing], 3, 2],
    ['more are changing than may', [proven, changing, changing], 1, 0],
  ])('free turns: %s', (_, all, maxClusters, free) => {
    expect(countFreeTurns(all, { revision: 'now', maxClusters })).toBe(free);
  });
});
