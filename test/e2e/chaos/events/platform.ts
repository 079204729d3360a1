import { type ChaosEvent, noCluster } from '../event.ts';

export const platformRestart: ChaosEvent = {
  name: 'restart of the API server of the platform cluster',
  ...noCluster,
  strike: (fleet) => fleet.testbed.restartPlatform(),
};

/** Its watches and versions reach back behind what the provider has seen. */
export const platformRestored: ChaosEvent = {
  name: 'replacement of the API server of the platform cluster from a backup of its objects',
  ...noCluster,
  uses: 'everything',
  async strike(fleet) {
    const { platform } = fleet.testbed.world;
    const backup = platform?.store.dump();
    // What is written meanwhile is lost.
    await fleet.minutes(10);
    if (backup) platform?.store.load(backup);
    await platform?.restart();
  },
};
