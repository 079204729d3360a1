import { describe, expect, it } from 'vitest';
import { backupKey, formatBackupTime, parseBackupKey, parseBackupTime } from './backup-keys.ts';

const owner = { installation: '0c7d', namespace: 'shop', name: 'prod', uid: '9f3a' };

describe('the key of a backup', () => {
  it.each(['', 'talos', 'talos/prod/'])('with the prefix %j is read as it was made', (prefix) => {
    const time = formatBackupTime(new Date('2026-11-26T02:30:00.123Z'));
    expect(time).toBe('20261126T023000Z');
    const key = backupKey(prefix, owner, time, 'etcd');
    expect(key).toMatch(/0c7d\/shop\/prod\/9f3a\/20261126T023000Z\.etcd\.age$/);
    expect(parseBackupKey(prefix, key)).toEqual({ owner, time, part: 'etcd' });
    expect(parseBackupTime(time)?.toISOString()).toBe('2026-11-26T02:30:00.000Z');
  });

  it.each([
    'other/0c7d/shop/prod/9f3a/20261126T023000Z.json',
    'talos/0c7d/shop/prod/20261126T023000Z.json',
    'talos/0c7d/shop/prod/9f3a/20261126T023000Z.etcd',
    'talos/0c7d/shop/prod/9f3a/20261366T023000Z.json',
    'talos/0c7d/shop/prod/9f3a/more/20261126T023000Z.json',
    'talos/0c7d/../prod/9f3a/20261126T023000Z.json',
  ])('is not %s', (key) => {
    expect(parseBackupKey('talos', key)).toBeUndefined();
  });
});
