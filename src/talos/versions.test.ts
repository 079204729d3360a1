import { describe, expect, it } from 'vitest';
import { checkVersions, firstTalosFor, isAtLeastMinor, minorOf, runsKubernetes } from './versions.ts';

describe('the Kubernetes versions that a Talos version supports', () => {
  it.each([
    ['1.12.0', '1.30.0', '1.35.9'],
    ['v1.13.9', '1.31.2', '1.36.3'],
    ['1.14.0-rc.1', '1.32.0', '1.37.0-rc.0'],
  ])('Talos %s accepts everything from %s to %s', (talos, oldest, newest) => {
    expect(checkVersions(talos, [oldest, newest])).toEqual([]);
  });

  it.each([
    ['1.12.0', '1.29.15', '1.36.0'],
    ['1.13.9', '1.30.0', '1.37.0'],
    ['1.14.0', '1.31.0', '1.38.0'],
  ])('Talos %s rejects %s and %s, naming each field and the range', (talos, tooOld, tooNew) => {
    const findings = checkVersions(talos, [tooOld, '1.33.1', tooNew]);
    expect(findings.map(({ field }) => field)).toEqual([
      'kubernetes.versions[0].version',
      'kubernetes.versions[2].version',
    ]);
    expect(findings[1]?.message).toContain(`not ${tooNew}`);
    expect(findings[1]?.message).toMatch(/1\.3\d to 1\.3\d/);
  });

  it.each(['1.11.6', '1.15.0', '2.0.0', 'latest', ''])('rejects Talos "%s" and asks for a known version', (talos) => {
    const findings = checkVersions(talos, ['1.35.4']);
    expect(findings).toEqual([expect.objectContaining({ field: 'talos.version', reason: 'TalosVersionUnsupported' })]);
  });

  it('reports an invalid Kubernetes version', () => {
    expect(checkVersions('1.13.9', ['1.35'])[0]?.message).toContain('"1.35" is not a Kubernetes version');
  });

  it.each<[string, string, boolean]>([
    ['1.12.3', '1.35.9', true],
    ['1.12.3', '1.36.0', false],
    ['1.14.0', '1.31.5', false],
    ['1.99.0', '1.50.0', true],
  ])('Talos %s runs Kubernetes %s: %s; an unknown Talos is not ruled out', (talos, kubernetes, runs) => {
    expect(runsKubernetes(talos, kubernetes)).toBe(runs);
  });

  it('knows the first Talos for a Kubernetes version', () => {
    expect(['1.35.0', '1.36.2', '1.37.0', '1.38.0'].map(firstTalosFor)).toEqual(['1.12', '1.13', '1.14', undefined]);
  });

  it('counts a pre-release as its minor, because it already behaves like it', () => {
    expect(minorOf('v1.14.0-rc.1')).toBe('1.14');
    expect(isAtLeastMinor('1.14.0-alpha.0', '1.14')).toBe(true);
    expect(isAtLeastMinor('1.9.6', '1.12')).toBe(false);
  });
});
