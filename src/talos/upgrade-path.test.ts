import { describe, expect, it } from 'vitest';
import { findUpgradeProblem } from './upgrade-path.ts';

const kubernetesVersion = '1.33.4';

describe('the path of an upgrade', () => {
  it.each([
    ['1.13.7', '1.13.9'],
    ['1.12.11', '1.13.9'],
    ['1.13.9', '1.14.0'],
    ['1.13.9', '1.13.7'],
    ['1.14.0-rc.1', '1.14.0'],
  ])('leads from %s to %s', (running, desired) => {
    expect(findUpgradeProblem({ running, desired, kubernetesVersion })).toBeUndefined();
  });

  it('is refused over two minors, with the one to go to first', () => {
    expect(findUpgradeProblem({ running: '1.12.11', desired: '1.14.0', kubernetesVersion })).toMatch(
      /the node runs 1\.12\.11\. Set talos\.version to a release of 1\.13 first/,
    );
  });

  it('is refused back to an earlier minor', () => {
    expect(findUpgradeProblem({ running: '1.14.0', desired: '1.13.9', kubernetesVersion })).toMatch(
      /cannot be downgraded to 1\.13\.9\. Set talos\.version to a release of 1\.14/,
    );
  });

  it('is refused to a version that does not run the Kubernetes of the cluster', () => {
    expect(findUpgradeProblem({ running: '1.13.9', desired: '1.14.0', kubernetesVersion: '1.31.2' })).toMatch(
      /does not run Kubernetes 1\.31\.2 of the cluster/,
    );
  });
});
