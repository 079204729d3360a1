/** A schematic and its id. */
export interface SchematicVector {
  readonly title: string;
  readonly extensions: readonly string[];
  readonly kernelArguments: readonly string[];
  readonly id: string;
}

/**
 * Ids that Go's emitter (go.yaml.in/yaml v4.0.0, and all before it that an image factory was released with) makes of
 * schematics of our own: product and simulated factory are both held to them, and to nothing of each other.
 */
export const schematicVectors: readonly SchematicVector[] = [
  {
    title: 'nothing',
    extensions: [],
    kernelArguments: [],
    id: '376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba',
  },
  {
    title: 'three extensions, order 1',
    extensions: ['siderolabs/qemu-guest-agent', 'siderolabs/iscsi-tools', 'siderolabs/util-linux-tools'],
    kernelArguments: [],
    id: '53513e54bb39202f35694412577a6bc53d484744d35a126e5d42ef34785c0d83',
  },
  {
    title: 'three extensions, order 2',
    extensions: ['siderolabs/qemu-guest-agent', 'siderolabs/util-linux-tools', 'siderolabs/iscsi-tools'],
    kernelArguments: [],
    id: '787b79bb847a07ebb9ae37396d015617266b1cef861107eaec85968ad7b40618',
  },
  {
    title: 'three extensions, order 3',
    extensions: ['siderolabs/iscsi-tools', 'siderolabs/qemu-guest-agent', 'siderolabs/util-linux-tools'],
    kernelArguments: [],
    id: '88d1f7a5c4f1d3aba7df787c448c1d3d008ed29cfb34af53fa0df4336a56040b',
  },
  {
    title: 'three extensions, order 4',
    extensions: ['siderolabs/iscsi-tools', 'siderolabs/util-linux-tools', 'siderolabs/qemu-guest-agent'],
    kernelArguments: [],
    id: 'e187c9b90f773cd8c84e5a3265c5554ee787b2fe67b508d9f955e90e7ae8c96c',
  },
  {
    title: 'three extensions, order 5',
    extensions: ['siderolabs/util-linux-tools', 'siderolabs/qemu-guest-agent', 'siderolabs/iscsi-tools'],
    kernelArguments: [],
    id: 'fef45b15f972f804081c85d5cbf386adbb33d9da0b58c36998140f58d5acbc2d',
  },
  {
    title: 'three extensions, order 6',
    extensions: ['siderolabs/util-linux-tools', 'siderolabs/iscsi-tools', 'siderolabs/qemu-guest-agent'],
    kernelArguments: [],
    id: 'ecb738a4bbc8c2a1d082cbec58ad60eeef63cf1dcd5f94852e438f04250ab100',
  },
  {
    title: 'the same extension twice',
    extensions: ['siderolabs/qemu-guest-agent', 'siderolabs/qemu-guest-agent'],
    kernelArguments: [],
    id: '08179298c3207eaa8896df417cec1c7f90c179f271efc1a12ab6c27065ced387',
  },
  {
    title: 'an extension of somebody else',
    extensions: ['example.org/one.two-3'],
    kernelArguments: [],
    id: 'a3c523c977658e776a355460ef75239b3ac3dd5cea186fe59416cd0199149218',
  },
  {
    title: 'two arguments',
    extensions: [],
    kernelArguments: ['console=ttyS0,115200n8', 'net.ifnames=0'],
    id: '2b1595c6a6b3943cf49ae984964159a5466c4107622e1a15ab6d7bbf090c81b8',
  },
  {
    title: 'two arguments the other way round',
    extensions: [],
    kernelArguments: ['net.ifnames=0', 'console=ttyS0,115200n8'],
    id: '0fce7f063e1b4be568c5756897e2c729a0b4c3da8d7bf4cd5199e6df47db1cfd',
  },
  {
    title: 'an argument taken away',
    extensions: [],
    kernelArguments: ['-console'],
    id: '0e80046e8ec57da706388cfaa9f95af004d9da55b370967350e5f17438849412',
  },
  {
    title: 'an argument taken away and another given',
    extensions: ['siderolabs/qemu-guest-agent'],
    kernelArguments: ['-console', 'console=tty0'],
    id: '8d602ca480c9d97e22a572e13cfd9a6f41b2828ceac75707c5e59acdc147511b',
  },
  {
    title: 'extensions and arguments',
    extensions: ['siderolabs/iscsi-tools', 'siderolabs/qemu-guest-agent'],
    kernelArguments: [
      'talos.experimental.wipe=system:EPHEMERAL,STATE',
      'ip=10.0.0.2::10.0.0.1:255.255.255.0:cp-0:eth0:off',
    ],
    id: '34df6d7f7bb281d453639a5c151a4538f9811642b97151898cbcda6257f89d1d',
  },
  {
    title: 'an argument that is an address',
    extensions: [],
    kernelArguments: ['talos.config=https://config.example/?u=1&m=2#a'],
    id: '351179e1404f815c14b3a374660492f0128448cc298189fd1b7213d71628dc42',
  },
  {
    title: 'arguments that look like numbers',
    extensions: [],
    kernelArguments: [
      '0',
      '08',
      '0x1f',
      '0o17',
      '0b11',
      '1_000',
      '-1',
      '+1.5',
      '1e3',
      '.5',
      '4e803',
      '.inf',
      '0.0.0.0',
    ],
    id: 'b0a2a67f8de90c7eff5182d9ea7c8ffdd4ddb998d260c220700031338ec956b4',
  },
  {
    title: 'arguments that look like something else',
    extensions: [],
    kernelArguments: ['~', 'null', 'True', 'FALSE', '2026-01-01', '2026-01-01x', ''],
    id: 'be6484a24f6324a9e3cc1cf5098d03894c4c1161a7eaa4ff9e5ee11bf6e44a5a',
  },
  {
    title: 'arguments with signs of YAML',
    extensions: [],
    kernelArguments: [
      'a: b',
      'a:',
      'a #b',
      'a#b',
      ' a',
      'a ',
      '- a',
      '-',
      '-{a',
      '?{',
      '[a]',
      '{a}',
      '*x',
      '&x',
      '!x',
      '%x',
      '@x',
      '`x',
      '|',
      '>',
      ',',
      "'x'",
      "it's",
      '"x"',
      '---',
      '...',
      '---a',
      '=',
      '_',
      'a\\b',
      'a\tb',
    ],
    id: 'a90737b77cf7bbfa53862b7d0f0e68a4e4b7ee24b0adb3115add8024c49dbe0f',
  },
  {
    title: 'arguments beyond ASCII',
    extensions: [],
    kernelArguments: ['straße', '日本'],
    id: 'deead7f77cefdc51e38352e0a27dc27caae0252ef5ca58aaca86ab0dabbc104e',
  },
  {
    title: 'a long argument',
    extensions: [],
    kernelArguments: [
      'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx',
      'word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word',
    ],
    id: 'e6d619521320050a409c2456839b3413b5fe97d9495852c1c8513df6d52fa65f',
  },
];
