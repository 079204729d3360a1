import { type ChaosEvent, noCluster } from '../event.ts';

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
