import { sampleObjects } from './objects.ts';
import { playScene, sceneSeed } from './robot/scene.ts';
import type { Story } from './story.ts';

/** Virtual machines on a TrueNAS system, and a glimpse of bare servers. */
export const virtualMachines: Story = {
  opening: 'The world: a platform cluster, a TrueNAS system, an image factory, the operator, a few bare servers',
  heading: 'A ProviderConfig, a Cluster and an AccessRequest: config/samples',
  seeds: { robot: sceneSeed },
  objects: sampleObjects,
  moments: [],
  interlude: playScene,
  whenGone: async () => {},
  remains: 'the Talos boot image stays on the NAS for the next cluster',
};
