// QuickFIX for `touchline bench decode-fix`: a message from its text, length and checksum validated, groups by a
// dictionary, then the price and the size of every entry as numbers.
//
//   quickfix-decode DICTIONARY MESSAGE BATCHES MESSAGES_OF_A_BATCH ENTRIES
//
// One line on stdout for each batch: its nanoseconds. Build: competitors/install quickfix

#include <quickfix/DataDictionary.h>
#include <quickfix/Message.h>
#include <quickfix/fix44/MarketDataIncrementalRefresh.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>

static double sum;

static int decode(const std::string& text, const FIX::DataDictionary& dictionary) {
    FIX::Message message(text, dictionary, true);
    FIX44::MarketDataIncrementalRefresh::NoMDEntries entry;
    const int entries = static_cast<int>(message.groupCount(FIX::FIELD::NoMDEntries));
    for (int at = 1; at <= entries; ++at) {
        message.getGroup(at, entry);
        FIX::MDEntryPx price;
        FIX::MDEntrySize size;
        entry.getField(price);
        entry.getField(size);
        sum += price.getValue() + size.getValue();
    }
    return entries;
}

int main(int count, char** arguments) try {
    if (count != 6) {
        std::cerr << "usage: quickfix-decode DICTIONARY MESSAGE BATCHES MESSAGES_OF_A_BATCH ENTRIES\n";
        return 2;
    }
    const FIX::DataDictionary dictionary(arguments[1]);
    std::ifstream file(arguments[2], std::ios::binary);
    const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    const long batches = std::atol(arguments[3]), messages = std::atol(arguments[4]);
    const int wanted = std::atoi(arguments[5]);
    for (long batch = -10; batch < batches; ++batch) {
        const auto begin = std::chrono::steady_clock::now();
        for (long message = 0; message < messages; ++message) {
            const int entries = decode(text, dictionary);
            if (entries != wanted) {
                std::cerr << entries << " entries came out; is it the venue's dictionary?\n";
                return 1;
            }
        }
        const auto end = std::chrono::steady_clock::now();
        if (batch >= 0)  // The first ones warm up.
            std::cout << std::chrono::duration_cast<std::chrono::nanoseconds>(end - begin).count() << '\n';
    }
    return sum > 0 ? 0 : 1;
} catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
}
