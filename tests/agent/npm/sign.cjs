// Signs as ethers and @solana/web3.js do. Standard input: {key, seed, transactions, documents,
// messages}; standard output: the same lists, signed. Argument: a node_modules directory.
const { createRequire } = require("node:module");
const path = require("node:path");
const installed = createRequire(path.join(path.resolve(process.argv[2]), "..", "from.js"));

async function evm(asked) {
  if (!asked.key) return {};
  const { Wallet } = installed("ethers");
  const wallet = new Wallet(asked.key);
  const transactions = [];
  for (const one of asked.transactions) transactions.push(await wallet.signTransaction(one));
  const documents = [];
  for (const { domain, types, message } of asked.documents) {
    // ethers declares the domain itself.
    const { EIP712Domain, ...others } = types;
    documents.push(await wallet.signTypedData(domain, others, message));
  }
  return { address: wallet.address, transactions, documents };
}

function solana(asked) {
  if (!asked.seed) return {};
  const { Keypair, VersionedTransaction } = installed("@solana/web3.js");
  const signer = Keypair.fromSeed(Buffer.from(asked.seed, "hex"));
  const messages = asked.messages.map((one) => {
    const transaction = VersionedTransaction.deserialize(Buffer.from(one, "base64"));
    transaction.sign([signer]);
    return {
      message: Buffer.from(transaction.message.serialize()).toString("base64"),
      raw: Buffer.from(transaction.serialize()).toString("base64"),
    };
  });
  return { owner: signer.publicKey.toBase58(), messages };
}

async function main() {
  const parts = [];
  for await (const part of process.stdin) parts.push(part);
  const asked = JSON.parse(Buffer.concat(parts).toString());
  process.stdout.write(JSON.stringify({ ...(await evm(asked)), ...solana(asked) }));
}

main();
