import { buildCrds } from '../../../../src/api/crd.ts';
import { CustomResourceDefinition } from '../../../../src/kube/core-types.ts';
import { type ChaosEvent, noCluster } from '../event.ts';

const [crd] = buildCrds();
const crdKey = { name: crd?.metadata.name ?? '' };
const shortNamesOf = (spec: CustomResourceDefinition['spec'] | undefined): string =>
  JSON.stringify((spec?.['names'] as { readonly shortNames?: readonly string[] } | undefined)?.shortNames);

export const providerRestart: ChaosEvent = {
  name: 'restart of the provider',
  ...noCluster,
  strike: (fleet) => fleet.replaceProvider('SIGTERM'),
};

export const providerKill: ChaosEvent = {
  name: 'kill -9 of the provider',
  ...noCluster,
  strike: (fleet) => fleet.replaceProvider('SIGKILL'),
};

export const providerUpdate: ChaosEvent = {
  name: 'update of the provider: init, and another run',
  ...noCluster,
  async strike(fleet) {
    const { platform, provider } = fleet.testbed;
    // A remnant of an older version, which the init of the new one removes while the old one runs.
    await platform.merge(CustomResourceDefinition, crdKey, { spec: { names: { shortNames: ['older'] } } });
    await provider.init();
    await fleet.replaceProvider('SIGTERM');
  },
  async isDone(fleet) {
    const { spec } = await fleet.testbed.platform.get(CustomResourceDefinition, crdKey);
    return shortNamesOf(spec) === shortNamesOf(crd?.spec);
  },
};

export const clockJump: ChaosEvent = {
  name: 'jump of the clock of the provider, which is corrected later',
  ...noCluster,
  uses: 'dates',
  async strike(fleet, _, number) {
    const { provider } = fleet;
    const before = provider.hoursAhead;
    await provider.setClock(before + (number % 2 === 0 ? 5 : -5));
    await fleet.minutes(5);
    await provider.setClock(before);
  },
};
