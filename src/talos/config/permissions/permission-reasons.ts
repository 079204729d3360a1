/** Reasons for permissions. Each completes the sentence that begins with the field. */
export const permissionReasons = {
  ownNodes: 'describes nodes of the own cluster to its own Pods',
  ownCapacity: 'divides the capacity of a node among Pods of the own cluster',
  ownImages: 'says where images of Pods come from; the registries of the system stay as they are',
  ownObjects: 'makes objects that a cluster owner may make by an AccessRequest, too',
  ownNetwork: 'chooses the network of the own Pods',
  ownDns: 'says which DNS server the own Pods ask',
  ownApi: 'is about the way to the own API server',
  ownModules: 'loads a module that Pods need, and sets its numbers',
  ownVolumes: 'shows a volume of the node to Pods',
  narrower: 'narrows what Pods may call',
  profiles: 'offers Pods a profile',
  scheduling: 'says how the own Pods are spread',
  security: 'is what an owner may say of each namespace, too',
  tuning: 'tunes memory, files and connections of a node',
  program: 'tunes a program of the own cluster',
  name: 'names the document',
} as const;
