import { describe, expect, it } from 'vitest';
import type { ProviderConfig } from '../../api/provider-config.ts';
import { type PlatformCheck, PlatformChecks } from './platform-checks.ts';

const config = (generation: number) => ({ metadata: { name: 'one', uid: 'uid-1', generation } }) as ProviderConfig;
const check = { available: [undefined] } as never as PlatformCheck;

describe('the check of a platform', () => {
  it('counts for another spec with the same platform section, once and for ten minutes', () => {
    let now = 0;
    const checks = new PlatformChecks({ monotonic: () => now });
    expect(checks.reuse(config(1), 'inputs')).toBe(false);
    checks.record(config(1), check, 'inputs');
    expect(checks.reuse(config(2), 'others')).toBe(false);
    expect(checks.latest(config(2))).toBeUndefined();
    expect(checks.reuse(config(2), 'inputs')).toBe(true);
    now = 599_000;
    expect(checks.latest(config(2))).toEqual({ check, ageSeconds: 599 });
    expect(checks.reuse(config(3), 'inputs')).toBe(true);
    now = 600_000;
    expect(checks.reuse(config(4), 'inputs')).toBe(false);
  });

  it('is made again for the same spec, and after one that found a problem', () => {
    const checks = new PlatformChecks({ monotonic: () => 0 });
    checks.record(config(1), check, 'inputs');
    expect(checks.reuse(config(1), 'inputs')).toBe(false);
    checks.record(config(2), check);
    expect(checks.reuse(config(3), 'inputs')).toBe(false);
  });
});
