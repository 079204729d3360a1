import type { DemoScenario } from './demo-scenario.ts';
import { sampleObjects } from './objects.ts';
import { demonstrateHosts, previewSeed } from './robot/hosts-preview.ts';

/** Virtual machines on a TrueNAS system, and a preview of bare servers. */
export const truenasScenario: DemoScenario = {
  opening: 'The world: a platform cluster, a TrueNAS system, an image factory, the operator, a few bare servers',
  heading: 'A ProviderConfig, a Cluster and an AccessRequest: config/samples',
  seeds: { robot: previewSeed },
  objects: sampleObjects,
  upgrade: { seeds: {}, objects: [], size: 'medium', talos: (version) => ({ talos: { version } }) },
  moments: [],
  interlude: demonstrateHosts,
  whenGone: async () => {},
  remains: 'the Talos boot image stays on the NAS for the next cluster',
};
